"""The version, also written into every database that sqlpriv installs itself into."""

__version__ = "0.1.0"
