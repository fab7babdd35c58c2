"""Generated data to try things on; nobody in it is real."""
