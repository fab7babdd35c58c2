"""A database file that already holds the macros, made once and copied from then on.

To create the macros DuckDB reads 860,000 characters of SQL, most of a second; to copy them ready-made takes a tenth of
that. The file is kept in the user's cache folder, and what is in it ends up in releases. So it is used only when
nobody but the user can have written it: the file, its folder and every folder above belong to the user (those above
maybe to root), and nobody else may write them. Its name holds the digest of all that it is made from and the digest
of its own content. Where any of that is in doubt, or files have no owners, the macros are made anew in the process.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import duckdb

from sqlpriv.errors import InputError
from sqlpriv.macros.catalog import macros, texts
from sqlpriv.macros.statements import STORAGE, creations
from sqlpriv.version import __version__

# For copies into a connection: what an older format has no word for, such as MATERIALIZED, would be lost on the way.
LATEST = "latest"
# Some for each version in use on this machine, and no folder that grows for ever.
_KEPT = 8


def start_release_file(path: Path) -> None:
    """Write a new database file that holds the macros in schema `priv`, with their comments, and nothing else."""
    content = _content()
    try:
        file = path.open("xb")
    except FileExistsError:
        raise InputError(f"there is already a file {path.name}; choose another name") from None
    try:
        with file:
            file.write(content)
    except BaseException:
        path.unlink()
        raise


def prepared_file(storage: str = LATEST) -> Path | None:
    """The file with the macros in the user's cache folder, made if need be; None where it could not be trusted."""
    folder = _folder()
    if folder is None:
        return None
    found = (path for path in folder.glob(_name(storage, "*")) if _verified(path, storage) is not None)
    return next(found, None) or _kept(folder, _made(storage), storage)


@cache
def _content() -> bytes:
    """The bytes of the prepared file; a process that may keep no file still makes them only once."""
    prepared = prepared_file(STORAGE)
    return (_verified(prepared, STORAGE) if prepared else None) or _made(STORAGE)


def _made(storage: str) -> bytes:
    """A database file with the macros, made from nothing but the texts of `sql/`."""
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        path = Path(folder) / "macros.duckdb"
        with duckdb.connect(str(path), config={"storage_compatibility_version": storage}) as con:
            for statement in ["BEGIN", *creations(macros().values()), "COMMIT"]:
                con.execute(statement).fetchall()
        return path.read_bytes()


@cache
def _key() -> str:
    """The digest of all that decides what is in the file: versions, the texts of the macros, and what makes them."""
    code = {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("*.py"))}
    parts = [__version__, duckdb.__version__, *texts().items(), *code.items()]
    return sha256(repr(parts).encode()).hexdigest()[:32]


def _name(storage: str, digest: str) -> str:
    return f"macros-{_key()}-{storage}-{digest}.duckdb"


def _verified(path: Path, storage: str) -> bytes | None:
    """The content of a file that nobody but the user can have written, if it is what its name says."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            private = stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
            content = file.read() if private and status.st_uid == os.geteuid() else b""
    except OSError:
        return None
    return content if path.name == _name(storage, sha256(content).hexdigest()) else None


def _kept(folder: Path, content: bytes, storage: str) -> Path | None:
    """The content as a file of the folder: written under another name and renamed, so that nobody reads half of it."""
    path = folder / _name(storage, sha256(content).hexdigest())
    try:
        handle, written = tempfile.mkstemp(dir=folder, prefix=".new-")  # which gives it the mode 0600
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(written, path)
        finally:
            Path(written).unlink(missing_ok=True)
        _forget(folder, path)
    except OSError:  # a full disk, say: the cache is a convenience
        return None
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
    try:
        folder = (base if base.is_absolute() else Path.home() / ".cache") / "sqlpriv"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _only_ours(folder) else None
    except (OSError, RuntimeError):  # no home, or no right to write there
        return None


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
