"""What methods share that publish columns apart, inside buckets of rows: which value goes with which is not told."""
