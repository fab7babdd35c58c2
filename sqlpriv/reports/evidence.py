"""A folder to file with a release: the page, the policy, its line of the ledger, what was verified, and a record.

What the files hold is documented in docs/verdict.md. The folder is written under another name and renamed, so that it
is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sqlpriv import publishing
from sqlpriv.checks.verdict import judge
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.facts import Facts, Line, OnProgress
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.released import method_of
from sqlpriv.publishing.verdicts import file_evidence
from sqlpriv.release.file import open_file, readable
from sqlpriv.release.ledger.entry import content_of
from sqlpriv.release.ledger.place import ledger_of, ledger_path
from sqlpriv.release.ledger.store import read_ledger
from sqlpriv.reports import html, pages
from sqlpriv.version import __version__

RECORD = 1
"""The version of the record: raised when a field changes its meaning or goes; fields may be added."""
_SAYS = (
    "method",
    "table",
    "date",
    "digest",
    "guarantee",
    "details",
    "parameters",
    "columns",
    "requirements",
    "warnings",
)


def write_evidence(
    release: Path,
    policy: Path | None = None,
    folder: Path | None = None,
    ledger_file: Path | None = None,
    on_progress: OnProgress = None,
) -> Facts:
    """Write the folder, NAME-evidence beside the release if none is named; what is in it."""
    target = folder or release.with_name(f"{release.stem}-evidence")
    if os.path.lexists(target):
        raise InputError(f"{str(target)!r} is there already; name another folder with output")
    read = None if policy is None else publishing.read_policy(policy)
    verified = publishing.verify(release, read)
    record = _record(release, read, ledger_file, verified)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    except OSError:
        raise ReleaseError(f"cannot write in the folder of {target.name!r}; name another") from None
    try:
        page = pages.report_release(release) if read is None else pages.report_policy(
            read, release, on_progress=on_progress
        )  # fmt: skip
        html.write_page(page, partial / "page.html")
        _write(partial / "verification.json", verified.content)
        if record["ledger"] is not None:
            _write(partial / "ledger.json", record["ledger"])
        if policy is not None:
            shutil.copyfile(policy, partial / "policy.toml")
        record["files"] = {path.name: _sha256(path) for path in sorted(partial.iterdir())}
        _write(partial / "record.json", record)
        partial.chmod(0o700)
        partial.rename(target)
    except OSError:
        raise ReleaseError(f"cannot write {target.name!r} in its folder; is the disk full?") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    names = sorted(path.name for path in target.iterdir())
    content = {"folder": str(target), "files": names, "verified": verified.passed, "verdict": record["verdict"]}
    lines = (Line(f"{target}: {', '.join(names)}"), *_said(record))
    return Facts(f"The evidence of {release.name}", content, lines, passed=verified.passed)


def _said(record: dict[str, Any]) -> list[Line]:
    """What is not in the folder, and why."""
    lines = []
    if record["ledger"] is None:
        lines.append(Line("the ledger has no line of this release: name its own with --ledger", "warning"))
    if record["policy"] is None:
        lines.append(Line("without --policy the page is of the file alone, and no policy is in the folder", "warning"))
    return lines


def _record(release: Path, policy: Policy | None, ledger_file: Path | None, verified: Facts) -> dict[str, Any]:
    """What a machine reads: docs/verdict.md says what each field is."""
    shown = publishing.show(release).content
    with readable(release), open_file(release) as file:
        method, reasons = method_of(file), dict(file.reasons)
        verdict = judge(file_evidence(method, file, policy))
    ledger = read_ledger(ledger_path(ledger_file) if policy is None else ledger_of(policy, ledger_file))
    entry = next((e for e in reversed(ledger.entries) if e.release == shown["release"]), None)
    return {
        "record": RECORD,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "sqlpriv": __version__,
        "release": {
            "name": release.name,
            "id": shown["release"],
            "sha256": _sha256(release),
            "bytes": release.stat().st_size,
            "sqlpriv": shown["sqlpriv"],
            **{key: shown[key] for key in _SAYS if key in shown},
        },
        "verdict": verdict.to_json(),
        "reasons": reasons,
        "verified": {
            "passed": verified.passed,
            "checks": len(verified.content["checks"]),
            "failed": [c["check"] for c in verified.content["checks"] if c["passed"] is False],
            "claimed": [c["check"] for c in verified.content["checks"] if c["passed"] is None],
        },
        "policy": None if policy is None else shown["policy"],
        "ledger": None if entry is None else content_of(entry),
    }


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()
