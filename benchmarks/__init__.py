"""Measurements: `python -m benchmarks.<name>` prints ratios against a floor or a peer."""
