"""Where the shared data sets are, for the benchmarks that need them."""

from __future__ import annotations

import sys
from pathlib import Path

_SHARED = Path(__file__).parents[2] / "shared" / "data"
ADULT_COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip


def adult_folder() -> Path:
    """The folder with adult.csv and its hierarchies."""
    return _present(_SHARED / "adult" / "adult.csv").parent


def acs_file() -> Path:
    """The ACS table."""
    return _present(_SHARED / "acs" / "acs2024_5attr_ge17.parquet")


def _present(path: Path) -> Path:
    if not path.is_file():
        sys.exit(f"this benchmark needs {path.name}, in ../shared/data beside the repository")
    return path
