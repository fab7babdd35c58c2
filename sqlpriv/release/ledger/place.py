"""Where the ledger is: one for an owner, in the user's data folder, unless another is named.

Nobody else may read it, since it holds sketches of private tables, or change it, since it decides what is refused. A
link is followed to what it points to, and never replaced; one that points nowhere is refused, because the ledger it
stood for may hold what must not be repeated. Files without owners (Windows) are left to the folder they are in.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.folders import is_of_others
from sqlpriv.policy.file import Policy

ENVIRONMENT = "SQLPRIV_LEDGER"
_NAME = "ledger.db"


def ledger_path(named: Path | None = None) -> Path:
    """The ledger: the one named, or that of the environment, or the user's own."""
    given = os.environ.get(ENVIRONMENT)
    return named or (Path(given) if given else _data_folder() / "sqlpriv" / _NAME)


def ledger_of(policy: Policy, named: Path | None) -> Path:
    """The ledger under which a policy publishes: the one named, or its own, or what there is without a policy."""
    return ledger_path(named or _of_policy(policy))


def ledgers_beside(policy: Policy, named: Path | None) -> tuple[Path, ...]:
    """Ledgers that are read together with that of a policy: the user's own, where the policy has one of its own."""
    return (ledger_path(),) if named is None and policy.ledger else ()


def ledger_passed_over(policy: Policy, named: Path | None) -> tuple[str, ...]:
    """A warning where the ledger that is named is not the one the policy names."""
    own = _of_policy(policy)
    if named is None or own is None or named.resolve() == own.resolve():
        return ()
    return (
        f"the ledger is {str(named)!r}, as --ledger says, and not {str(own)!r} of the policy: releases in that one "
        "were not considered",
    )


def _of_policy(policy: Policy) -> Path | None:
    return policy.table.path(policy.ledger) if policy.ledger else None


def _data_folder() -> Path:
    """Where programs keep a user's data: where the freedesktop standard says, or as on a Mac or on Windows."""
    given = Path(os.environ.get("XDG_DATA_HOME") or "")
    if given.is_absolute():
        return given
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ".local" / "share"


def followed(path: Path) -> Path:
    """The ledger behind its links; one that leads nowhere is refused."""
    try:
        there = path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        raise _leads_nowhere(path) from None
    if path.is_symlink() and not there.exists():
        raise _leads_nowhere(path)
    if there.exists() and not there.is_file():
        raise ReleaseError(f"the ledger {path.name!r} is no file; name another with --ledger")
    return there


def _leads_nowhere(path: Path) -> ReleaseError:
    return ReleaseError(
        f"the ledger {path.name!r} is a link that leads nowhere; what it stood for may hold what must not be repeated: "
        "bring it back, or name another with --ledger"
    )


def own_folder(folder: Path) -> None:
    """Make a folder that only its owner can look into; an error where it is somebody else's, or a link."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or is_of_others(status):
            raise ReleaseError(
                f"{folder.name!r} beside the ledger is not a folder of yours; name another with --ledger"
            )
        if hasattr(os, "geteuid") and stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError:
        raise ReleaseError(
            f"cannot write beside the ledger in {folder.parent.name!r}; name another with --ledger"
        ) from None


def make_folder(path: Path) -> None:
    """The folder of the ledger: our own of the user's data folder is made; any other has to be there."""
    folder = path.parent
    try:
        if path == _users_own():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        raise ReleaseError(
            f"cannot make the folder of the ledger, {folder.name!r}; name another with --ledger"
        ) from None
    if not folder.is_dir():
        raise ReleaseError(f"there is no folder for the ledger {path.name!r}; make it, or name another with --ledger")


def _users_own() -> Path:
    """The user's own ledger, whatever is named."""
    return (_data_folder() / "sqlpriv" / _NAME).resolve()


def tightened(path: Path) -> tuple[str, ...]:
    """Refuse a ledger that others can have written; take from others the right to read it, and say so."""
    if not hasattr(os, "geteuid"):
        return ()
    changed = []
    folder = path.parent.stat()
    if is_of_others(folder):
        raise ReleaseError(
            f"the folder of the ledger {path.name!r} belongs to somebody else, who can replace it; name one in a "
            "folder of yours with --ledger"
        )
    if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX:
        if path != _users_own():
            raise ReleaseError(
                f"others can write into the folder of the ledger {path.name!r}, and so replace it; take that right "
                "away (chmod go-w), or name another with --ledger"
            )
        path.parent.chmod(0o700)
        changed.append("others could write into the folder of the ledger; now only you can")
    if path.exists():
        status = path.stat()
        if is_of_others(status):
            raise ReleaseError(f"the ledger {path.name!r} belongs to somebody else; name another with --ledger")
        if stat.S_IMODE(status.st_mode) & 0o077:
            path.chmod(0o600)
            changed.append(f"others could read or write the ledger {path.name!r}; now only you can")
    return tuple(changed)
