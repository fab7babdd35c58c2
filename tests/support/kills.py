"""Processes killed at random points, and what they left: python -m tests.support.kills [KILLS] [SEED]

Every method publishes a small table, as it is, with its tables on disk, or to another file system; or a release is made
void in the ledger, or gets a view. The process dies at some point; another one looks at what is there, does the same
again, and looks again. Each does its work in a child of a parent that opens no database, so a kill costs no import.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import stat
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import sqlpriv
from sqlpriv.publishing import add_view
from sqlpriv.release.ledger.place import ledger_path
from sqlpriv.release.ledger.show import void_entry
from sqlpriv.release.ledger.store import read_ledger
from support.golden import POLICIES, TABLE
from support.randomized_policies import KEY, rows_of

METHODS = (
    "generalize", "generalize, suppressed", "generalize, persons", "mondrian", "hilbert", "anatomy", "slicing", "sdgs",
    "disclose", "alpha_beta, slots", "alpha_beta, view of three", "noisy_counts", "frapp",
)  # fmt: skip
WAYS = ("publish", "on disk", "apart", "void", "view")
_WEIGHTS = (6, 2, 2, 1, 1)
_QUESTION = "SELECT count(*) AS n FROM people"
_GIVEN = {"people.csv", "policy.toml", "key", "data", "tmp", "ledger.db", "ledger.db-unfinished"}


@dataclass(frozen=True)
class Killed:
    """One kill: what was done, what was there then, and what is wrong after the work was done again."""

    way: str
    method: str
    found: str
    faults: tuple[str, ...]


def kills(number: int, seed: int, place: Path) -> Iterator[Killed]:
    """So many kills, in folders of a place."""
    chance = random.Random(seed)
    takes: dict[str, float] = defaultdict(lambda: 1.0)
    for i in range(number):
        method, (way,) = METHODS[i % len(METHODS)], chance.choices(WAYS, _WEIGHTS)
        folder = place / str(i)
        (folder / "tmp").mkdir(parents=True)
        (folder / "people.csv").write_text(TABLE, encoding="utf-8")
        (folder / "policy.toml").write_text(POLICIES[method].replace("[release]", _TABLE_OUTPUT), encoding="utf-8")
        (folder / "key").write_bytes(KEY)
        if way in {"void", "view"}:
            _child(folder, lambda f=folder: _publish(f, "publish"))
        process = _start(folder, lambda f=folder, w=way: _work(f, w))
        time.sleep(chance.uniform(0, 1.1) * takes[way])
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        said = _child(folder, lambda f=folder, w=way: _judged(f, w))
        if "seconds" in said:
            takes[way] = 0.5 * takes[way] + 0.5 * said["seconds"]
        faults = said.get("faults", [said.get("error", "it died")])
        yield Killed(way, method, said.get("found", "nobody could look"), tuple(faults))


_TABLE_OUTPUT = '[release]\noutput = "release.duckdb"'


def _start(folder: Path, work: Callable[[], Any], answer: int | None = None) -> int:
    """A child that works in a folder, with a ledger and temporary files of its own; what it found goes to a pipe."""
    process = os.fork()
    if process:
        return process
    try:
        os.environ |= {"SQLPRIV_LEDGER": str(folder / "ledger.db"), "TMPDIR": str(folder / "tmp")}
        tempfile.tempdir = None
        found = work()
        if answer is not None:
            os.write(answer, json.dumps(found).encode())
    except BaseException as error:
        if answer is not None:
            os.write(answer, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
    finally:
        os._exit(0)


def _child(folder: Path, work: Callable[[], Any]) -> dict[str, Any]:
    """What a child found, once it has ended."""
    reader, writer = os.pipe()
    process = _start(folder, work, writer)
    os.close(writer)
    with open(reader, "rb") as file:
        said = file.read()
    os.waitpid(process, 0)
    found: dict[str, Any] = json.loads(said or b"null") or {}
    return found


def _work(folder: Path, way: str) -> None:
    if way == "void":
        (entry,) = read_ledger(ledger_path()).entries
        void_entry(entry.name, "it never left the machine")
    elif way == "view":
        add_view(folder / "release.duckdb", "everybody", _QUESTION)
    else:
        _publish(folder, way)


def _publish(folder: Path, way: str) -> None:
    if way == "on disk":
        import_module("sqlpriv.table.source")._MANY = -1
    if way == "apart":
        _keep_apart()
    draws = sqlpriv.methods.METHODS[sqlpriv.read_policy(folder / "policy.toml").method].draws
    sqlpriv.publish(folder / "policy.toml", key_file=folder / "key" if draws else None, force=True)


def _keep_apart() -> None:
    """The target is on another file system than the ledger."""
    rename = os.replace

    def apart(source: Path, target: Path) -> None:
        if "-unfinished" in str(source):
            raise OSError(errno.EXDEV, "another file system")
        rename(source, target)

    import_module("sqlpriv.release.place").os.replace = apart


def _judged(folder: Path, way: str) -> dict[str, Any]:
    """What is there; then the same work again, and what is wrong after it."""
    target, faults = folder / "release.duckdb", []
    path = ledger_path()
    before = read_ledger(path).entries if path.exists() else []
    there = target.exists()
    if there and not before:
        faults.append("a release without an entry")
    if any(stat.S_IMODE(p.stat().st_mode) & 0o077 for p in (folder / "tmp").iterdir()):
        faults.append("a temporary folder that others may read")
    if way != "view" and any(stat.S_IMODE(p.stat().st_mode) & 0o077 for p in folder.glob(".release*")):
        faults.append("a hidden copy that others may read")
    if there and not sqlpriv.verify(target).passed:
        faults.append("a release that does not verify")
    rows = rows_of(target) if there and way not in {"void", "view"} else None
    found = _state(way, target, before)
    began = time.monotonic()
    if not (way == "void" and before and before[0].void) and not (way == "view" and _has_view(target)):
        _work(folder, way)
    seconds = time.monotonic() - began
    ledger = read_ledger(path)
    if [e.finished for e in ledger.entries] != [True] or ledger.keys:
        faults.append("not one finished entry")
    if before and before[0].coins != ledger.entries[0].coins:
        faults.append("other noise than that of the first attempt")
    if not sqlpriv.verify(target).passed:
        faults.append("a release that does not verify in the end")
    if rows is not None and rows_of(target) != rows:
        faults.append("other rows than before")
    if more := {p.name for p in folder.iterdir()} - _GIVEN - {target.name}:
        faults.append(f"left beside it: {len(more)} files")
    if any(not p.name.startswith("lock") for p in ledger.folder.iterdir()):
        faults.append("left beside the ledger")
    if any((folder / "tmp").iterdir()):
        faults.append("left among temporary files")
    return {"found": found, "faults": faults, "seconds": seconds}


def _state(way: str, target: Path, entries: list[Any]) -> str:
    if way == "void":
        return "void" if entries[0].void else "not void"
    if way == "view":
        return "with the view" if _has_view(target) else "without the view"
    if not entries:
        return "nothing"
    if entries[0].finished:
        return "the finished release"
    return "unfinished, in its place" if target.exists() else "unfinished, to be completed"


def _has_view(target: Path) -> bool:
    return "everybody" in json.dumps(sqlpriv.show(target).content)


def main(number: int = 200, seed: int = 1) -> int:
    """Print what kills left, by what was done."""
    counted: Counter[tuple[str, str]] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for kill in kills(number, seed, Path(place)):
            counted[kill.way, kill.found] += 1
            wrong += bool(kill.faults)
            if kill.faults:
                print(f"{kill.way} of {kill.method}, {kill.found}: {', '.join(map(str, kill.faults))}", flush=True)
    for (way, found), times in sorted(counted.items()):
        print(f"{way:10} {found:30} {times:4}")
    print(f"{number} kills, {wrong} of them left something wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
