"""The macros ready-made: created once in a database file, and copied from it from then on.

To create the macros DuckDB reads 860,000 characters of SQL, most of a second; to copy them takes a tenth of that. The
file is kept in the user's cache folder, and what is in it runs in the user's connections. So it is used only when
nobody but the user can have written it: the file, its folder and every folder above belong to the user (those above
maybe to root), and nobody else may write them. Its name holds the digest of all that it is made from and the digest of
its own content. Where any of that is in doubt, or files have no owners, the macros are created anew.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import duckdb

from sqlpriv.core.engine import run
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import macros, texts
from sqlpriv.macros.statements import creations
from sqlpriv.version import __version__

# One for each version in use on this machine, and no folder that grows for ever.
_KEPT = 4


@contextmanager
def prepared_macros(con: duckdb.DuckDBPyConnection) -> Iterator[str | None]:
    """The name under which a database with the macros is attached meanwhile; None where there is none to trust.

    Or where it cannot be attached, such as on a connection that may open no files.
    """
    name = f"__priv_{token_hex(8)}"
    file = prepared_file()
    try:
        if file:
            run(con, f"ATTACH {literal(str(file))} AS {name} (READ_ONLY)")
    except duckdb.Error:
        file = None
    try:
        yield name if file else None
    finally:
        if file:
            run(con, f"DETACH {name}")


def prepared_file() -> Path | None:
    """The file with the macros in the user's cache folder, made if need be; None where it could not be trusted."""
    try:
        folder = _folder()
        if folder is None:
            return None
        found = (path for path in folder.glob(f"macros-{_key()}-*.duckdb") if _is_trusted(path))
        return next(found, None) or _kept(folder, _made())
    except (OSError, duckdb.Error):  # no home, no right to write, a full disk: all this is a convenience
        return None


def _made() -> bytes:
    """A database file with the macros, made from nothing but the texts of `sql/`.

    In DuckDB's latest format: what an older one has no word for, such as MATERIALIZED, would be lost in every copy.
    """
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        path = Path(folder) / "macros.duckdb"
        with duckdb.connect(
            str(path), config={"storage_compatibility_version": "latest", "temp_directory": folder}
        ) as con:
            for statement in ["BEGIN", *creations(macros().values()), "COMMIT"]:
                run(con, statement)
        return path.read_bytes()


@cache
def _key() -> str:
    """The digest of all that decides what is in the file: versions, the texts of the macros, and what makes them."""
    code = {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("*.py"))}
    parts = [__version__, duckdb.__version__, *texts().items(), *code.items()]
    return sha256(repr(parts).encode()).hexdigest()[:32]


def _name(content: bytes) -> str:
    return f"macros-{_key()}-{sha256(content).hexdigest()}.duckdb"


def _is_trusted(path: Path) -> bool:
    """Nobody but the user can have written the file, and it is what its name says."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            private = stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
            return private and status.st_uid == os.geteuid() and path.name == _name(file.read())
    except OSError:
        return False


def _kept(folder: Path, content: bytes) -> Path:
    """The content as a file of the folder: written under another name and renamed, so that nobody reads half of it."""
    path = folder / _name(content)
    handle, written = tempfile.mkstemp(dir=folder, prefix=".new-")  # which gives it the mode 0600
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(written, path)
    finally:
        Path(written).unlink(missing_ok=True)
    _forget(folder, path)
    return path


def _forget(folder: Path, newest: Path) -> None:
    others = [path for path in folder.glob("macros-*.duckdb") if path != newest]
    for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT - 1 :]:
        path.unlink(missing_ok=True)


def _folder() -> Path | None:
    """Our folder in the user's cache folder, if nobody else can write there."""
    if not hasattr(os, "geteuid"):
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not base.is_absolute():  # as the standard says
        base = Path(os.path.expanduser("~/.cache"))
    folder = base / "sqlpriv"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if _only_ours(folder) else None


def _only_ours(folder: Path) -> bool:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        return False
    return all(_nobody_else_may_change(above) for above in _folders_above(folder))


def _folders_above(folder: Path) -> Iterator[Path]:
    """Every folder on the way, as it is spelt and as it is after links: who may change either chooses the file."""
    yield from folder.absolute().parents
    yield from folder.resolve().parents


def _nobody_else_may_change(folder: Path) -> bool:
    """In a folder with the sticky bit, such as /tmp, others may add files but not replace ours."""
    status = folder.stat()
    shared = stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX
    return status.st_uid in {0, os.geteuid()} and not shared
