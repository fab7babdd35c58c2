"""The version, also written into every database that sqlpriv installs itself into."""

__version__ = "1.0.0rc1"
