"""How much of the code one command goes through: modules, crossings between rooms, depth of the stack.

    python -m benchmarks.walk

A table of 2,000 rows is generated (the demo's hospital), `sqlpriv publish` publishes it by three methods, and `sqlpriv
query` asks one of the releases. Publishing is counted without the page to sign (`--no-report`), and once more with it:
the page opens the release again, verifies it, and asks it questions. `sys.setprofile` sees every call of a Python
function. Printed for each command:

    modules     modules of sqlpriv of which a function was called
    crossings   different pairs of functions in which one called the other across two rooms
    to core     those of them that lead into core/, whose few functions (run SQL, quote a name) every room speaks with
    deepest     the most functions of sqlpriv on the stack at once

A room is a package or module directly below sqlpriv; each family of methods/ is a room of its own. Code of other
libraries between two functions of sqlpriv, such as a context manager of the standard library, is skipped. Each command
runs once before it is counted, so that nothing that happens on import counts.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import sqlpriv
from sqlpriv.apps.cli.main import app
from sqlpriv.demo import hospital

ROWS = 2_000
NOISY_COUNTS = 'method = "noisy_counts"'
"""The lines of a policy that choose noisy counts."""
QUERY = "SELECT sex, count(*) AS n, avg(length_of_stay) AS stay FROM hospital WHERE diagnosis = 'Stroke' GROUP BY sex"
_TABLE = """
[table]
source = "hospital.parquet"
[columns]
zip            = { role = "drop" }
birth_date     = { role = "drop" }
nationality    = { role = "drop" }
admission_date = { role = "drop" }
sex            = { role = "quasi-identifier", hierarchy = "suppression", domain = ["F", "M", "X"] }
length_of_stay = { role = "quasi-identifier", hierarchy = "ranges:5,10,30", domain = "range:1..90", outside = "drop" }
diagnosis      = { role = "sensitive", domain = "table:hospital_diagnosis.parquet.diagnosis", null = true }
"""
_CLASSES = 'patient_id = { role = "person" }\n[require]\nk = 5\ndistinct_l = { diagnosis = 2 }\n[release]\n'
POLICIES = {
    "generalize": f'{_TABLE}{_CLASSES}method = "generalize"\nsuppression = 0.02\n',
    "mondrian": f'{_TABLE}{_CLASSES}method = "mondrian"\n',
    "noisy counts": f'{_TABLE}patient_id = {{ role = "identifier" }}\n[release]\n{NOISY_COUNTS}\ngamma = 0.3\n'
    f"n_public = {ROWS}\n",
}
_WIDE = 24
_ROOT = str(Path(sqlpriv.__file__).parent) + os.sep


@dataclass
class Walk:
    """The calls of one command."""

    modules: set[str] = field(default_factory=set)
    crossings: set[tuple[CodeType, CodeType]] = field(default_factory=set)
    to_core: set[tuple[CodeType, CodeType]] = field(default_factory=set)
    deepest: int = 0

    def count(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call of a function of sqlpriv; this is what `sys.setprofile` takes."""
        module = _module(frame)
        if event != "call" or module is None:
            return
        callers, below = [], frame.f_back
        while below is not None:
            if _module(below) is not None:
                callers.append(below)
            below = below.f_back
        self.modules.add(module)
        self.deepest = max(self.deepest, len(callers) + 1)
        if callers and _room(callers[0]) != _room(frame):
            self.crossings.add((callers[0].f_code, frame.f_code))
            if _room(frame) == "core":
                self.to_core.add((callers[0].f_code, frame.f_code))


def _module(frame: FrameType) -> str | None:
    """The path of a function's module below sqlpriv; None elsewhere, and for a module that is being imported."""
    path = frame.f_code.co_filename
    return path[len(_ROOT) :] if path.startswith(_ROOT) and frame.f_code.co_name != "<module>" else None


def _room(frame: FrameType) -> str:
    first, *rest = (_module(frame) or "").removesuffix(".py").split(os.sep)
    return f"methods/{rest[0]}" if first == "methods" and rest else first


def run(*arguments: str) -> None:
    """Run a command without its output."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = app([*arguments, "--json"], standalone_mode=False)
    assert not code, f"sqlpriv {' '.join(arguments)} ended with {code}"


def walk(*arguments: str) -> Walk:
    """Run a command and count its calls."""
    found = Walk()
    sys.setprofile(found.count)
    try:
        run(*arguments)
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print the walks."""
    print(f"{'':{_WIDE}}{'modules':>9}{'crossings':>11}{'to core':>9}{'deepest':>9}")
    with tempfile.TemporaryDirectory() as folder:
        hospital.write(Path(folder), ROWS)
        for method, text in POLICIES.items():
            policy = Path(folder) / f"{method}.toml"
            policy.write_text(text, encoding="utf-8")
            # A ledger for each run: it publishes the table as if nothing had been released before.
            first, second, third = (
                ("publish", str(policy), "--output", f"{policy}.{n}", "--ledger", f"{policy}.ledger{n}")
                for n in (1, 2, 3)
            )
            run(*first)
            _show(f"publish, {method}", walk(*second, "--no-report"))
            _show(f"{'with its page':>{_WIDE}}", walk(*third))
        query = ("query", f"{folder}/generalize.toml.1", QUERY)
        run(*query)
        _show("query, generalize", walk(*query))


def _show(title: str, found: Walk) -> None:
    counts = f"{len(found.modules):>9}{len(found.crossings):>11}{len(found.to_core):>9}{found.deepest:>9}"
    print(f"{title:{_WIDE}}{counts}", flush=True)


if __name__ == "__main__":
    main()
