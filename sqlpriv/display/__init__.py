"""Results for people to read: on the terminal, as JSON, and as pictures."""
