"""Packages are found, not listed; pyproject.toml alone cannot say so beside the two folders that become packages."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["sqlpriv", "sqlpriv.*"]), "sqlpriv.sql", "sqlpriv.udfs"])
