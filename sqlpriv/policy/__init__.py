"""What the owner declares, in one TOML file; every message about it names its line."""
