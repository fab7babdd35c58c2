"""The ways in: each thin, each over the same calls."""
