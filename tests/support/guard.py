"""A guard for refactoring: what sqlpriv publishes, prints and answers stays what it was.

It publishes some 50 policies with fixed keys on small generated tables, every method in all its variants, and records
of each one, under fixtures/guard/:

    relations   rows, columns and digests of every published table, whatever the order of its rows
    described   the tables in which a release describes itself (about, attributes, parameters, views), in full
    views       what the views in the release answer
    commands    exit code and JSON of plan, publish --dry-run, publish, show, verify, attack, ledger; of some, more
    answers     what questions find: a selection for every release, whole corpora of fixtures/ for some

    python -m tests.support.guard record                    write down what is (on a state that is known to be right)
    python -m tests.support.guard compare                   run it all again and list what differs; exit code 1 if any
    python -m tests.support.guard compare --only 'bag*'     only what has these names
    python -m tests.support.guard compare --sentences       list changed sentences, too
    python -m tests.support.guard list                      the names

Digests, texts and whole numbers must be the same, other numbers to 1e-9. A changed sentence (a text with three spaces
or more) is counted and does not fail, unless with --strict. What is meant to change is declared: in `EXPECTED`, with
the reason, and in `RENAMED`. The policies are in guard_policies.py, and how a method is called there is in its
`KINDS`. Places, days, versions, times and random names are left out of what is recorded (guard_record.py).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatchcase
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

Json = Any
FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "guard"
RELATIVE = 1e-9
_NOTHING = "(nothing)"
_ABSOLUTE = {"answers": 1e-9, "views": 1e-9}
"""By section, what two numbers may differ by, however small they are: estimates cancel, parameters do not."""


@dataclass(frozen=True)
class Expected:
    """A difference that is meant to be.

    `where` is a pattern (as of file names) of `policy/section/path`, such as `bag*/commands/show.json.method`; `before`
    and `after` are patterns of the values as they are listed.
    """

    where: str
    reason: str
    before: str = "*"
    after: str = "*"

    def covers(self, found: Difference) -> bool:
        """Whether this difference was declared."""
        values = ((shown(found.before), self.before), (shown(found.after), self.after))
        return fnmatchcase(found.where, self.where) and all(fnmatchcase(v, pattern) for v, pattern in values)


EXPECTED: tuple[Expected, ...] = (
    *(
        Expected(f"{policy}/commands/{name}.json.warnings", "what the ledger warns of is said of every method")
        for policy, names in (("*generalize*", ("plan", "dry-run", "publish", "again")), ("once-*", ("first",)))
        for name in names
    ),
    Expected("*/answers/*max(n)*", "extremes of grouped answers are computed from their estimates"),
)
"""What may differ from what was recorded, each with the reason."""
RENAMED: tuple[tuple[str, str, str], ...] = ()
"""Names that changed: (pattern of policies, before, after), whole words of keys and texts in what was recorded."""


@dataclass(frozen=True)
class Difference:
    """One place that differs."""

    policy: str
    section: str
    path: str
    before: Json
    after: Json
    is_sentence: bool = False

    @property
    def where(self) -> str:
        """Where it is, as patterns of EXPECTED name it."""
        return f"{self.policy}/{self.section}/{self.path}"


def shown(value: Json, most: int = 400) -> str:
    """A value in a line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"


# --- comparing ----------------------------------------------------------------------------------


def is_sentence(value: Json) -> bool:
    """Whether it is a text for people to read."""
    return isinstance(value, str) and value.count(" ") >= 3


def differences(policy: str, before: Json, after: Json) -> Iterator[Difference]:
    """All places that differ between what was recorded of a policy and what is."""
    for section in dict.fromkeys([*before, *after]):
        old, new = before.get(section, {}), after.get(section, {})
        for path, one, two, sentence in _walk(old, new, "", _ABSOLUTE.get(section, 1e-15)):
            yield Difference(policy, section, path, one, two, sentence)


def _walk(old: Json, new: Json, path: str, absolute: float) -> Iterator[tuple[str, Json, Json, bool]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            below = f"{path}.{key}" if path else key
            if key not in new:
                yield below, old[key], _NOTHING, False
            elif key not in old:
                yield below, _NOTHING, new[key], False
            else:
                yield from _walk(old[key], new[key], below, absolute)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) == len(new):
            for place, (one, two) in enumerate(zip(old, new, strict=True)):
                yield from _walk(one, two, f"{path}[{place}]", absolute)
            return
        yield f"{path}.length", len(old), len(new), False
        gone, come = (Counter(map(_key, a)) - Counter(map(_key, b)) for a, b in ((old, new), (new, old)))
        yield from ((f"{path}[-]", text, _NOTHING, False) for text in gone.elements())
        yield from ((f"{path}[+]", _NOTHING, text, False) for text in come.elements())
    elif not _same(old, new, absolute):
        yield path, old, new, is_sentence(old) and is_sentence(new)


def _key(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _same(old: Json, new: Json, absolute: float) -> bool:
    if type(old) is not type(new):
        return False
    if isinstance(old, float):
        return abs(old - new) <= max(absolute, RELATIVE * max(abs(old), abs(new)))
    return bool(old == new)


def renamed(policy: str, value: Json) -> Json:
    """What was recorded, with the names that are meant to have changed."""
    pairs = [(before, after) for pattern, before, after in RENAMED if fnmatchcase(policy, pattern)]
    return _renamed(value, pairs) if pairs else value


def _renamed(value: Json, pairs: Sequence[tuple[str, str]]) -> Json:
    if isinstance(value, dict):
        return {_renamed(k, pairs): _renamed(v, pairs) for k, v in value.items()}
    if isinstance(value, list):
        return [_renamed(v, pairs) for v in value]
    if isinstance(value, str):
        for before, after in pairs:
            value = re.sub(rf"(?<!\w){re.escape(before)}(?!\w)", after.replace("\\", r"\\"), value)
    return value


def numbers_of(text: str) -> list[str]:
    """The numbers in a sentence."""
    return re.findall(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?", text)


# --- files --------------------------------------------------------------------------------------


def dumped(value: Json, indent: int = 0) -> str:
    """JSON that is read and compared line by line: what fits in a line stays in one."""
    flat = json.dumps(value, ensure_ascii=False)
    is_deep = isinstance(value, dict) and any(isinstance(v, (dict, list)) for v in value.values())
    if not isinstance(value, (dict, list)) or not value or (len(flat) + indent <= 160 and not is_deep):
        return flat
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(k, ensure_ascii=False)}: {dumped(v, indent + 1)}" for k, v in value.items()]
    else:
        parts = [dumped(v, indent + 1) for v in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    return f"{ends[0]}\n{pad}" + f",\n{pad}".join(parts) + f"\n{' ' * indent}{ends[1]}"


def file_of(name: str) -> Path:
    """Where something is recorded."""
    return FOLDER / f"{name}.json"


# --- running ------------------------------------------------------------------------------------


def _one(name: str) -> tuple[str, Json, str, float]:
    """Record one name in this process, a fresh one: the record, or what went wrong."""
    start = time.monotonic()
    try:
        from tests.support import guard_record

        # Through JSON and back, as what is read from the files.
        made = json.loads(json.dumps(guard_record.record(name)))
    except Exception:
        return name, None, traceback.format_exc(), time.monotonic() - start
    return name, made, "", time.monotonic() - start


def _send(name: str, connection: Connection) -> None:
    connection.send(_one(name))


def _alone(name: str) -> tuple[str, Json, str, float]:
    """Record one name in a process of its own; a process that dies is an error as any other."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(name, sender))
    process.start()
    sender.close()
    try:
        found: tuple[str, Json, str, float] = receiver.recv()
    except EOFError:
        process.join()
        return name, None, f"its process ended with exit code {process.exitcode} and no record", 0.0
    process.join()
    return found


def made(names: Sequence[str], processes: int) -> Iterator[tuple[str, Json, str, float]]:
    """The records of these names, each from a process of its own, as they are ready."""
    with ThreadPoolExecutor(processes) as pool:
        yield from (done.result() for done in as_completed([pool.submit(_alone, name) for name in names]))


def chosen(only: Sequence[str]) -> list[str]:
    """The names that these patterns ask for, all without one; what takes long comes first."""
    from tests.support import guard_record

    known = guard_record.names()
    if not only:
        return sorted(known, key=lambda n: -file_of(n).stat().st_size if file_of(n).exists() else 0)
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in known):
            sys.exit(f"nothing is called {pattern!r}; `list` prints the names")
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in only)]


def record(only: Sequence[str], processes: int) -> int:
    """Write down what is."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, found, error, seconds in made(chosen(only), processes):
        if error:
            failed += 1
            print(f"{name}: failed\n{error}")
            continue
        file_of(name).write_text(dumped(found) + "\n", encoding="utf-8")
        exits = {k: v["exit"] for k, v in found.get("commands", {}).items() if v["exit"]}
        print(f"{name}: {seconds:.1f} s{f', exit codes {exits}' if exits else ''}", flush=True)
    if not only:
        from tests.support import guard_record

        for file in FOLDER.glob("*.json"):
            if file.stem not in guard_record.names():
                file.unlink()
    return 1 if failed else 0


def compare(arguments: argparse.Namespace) -> int:
    """List what differs from what was recorded."""
    start = time.monotonic()
    found: list[Difference] = []
    broken: dict[str, str] = {}
    names = chosen(arguments.only)
    for file in [] if arguments.only else FOLDER.glob("*.json"):
        if file.stem not in names:
            broken[file.stem] = "it was recorded, and no policy has this name"
    for name, after, error, _ in made(names, arguments.processes):
        if error:
            broken[name] = error
        elif not file_of(name).exists():
            broken[name] = "it was never recorded"
        else:
            before = renamed(name, json.loads(file_of(name).read_text(encoding="utf-8")))
            found += differences(name, before, after)
            if arguments.keep:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / f"{name}.json").write_text(dumped(after) + "\n", encoding="utf-8")
    skipped = [d for d in found if d.section in arguments.skip]
    found = [d for d in found if d.section not in arguments.skip]
    used = Counter(e for d in found for e in [next((e for e in EXPECTED if e.covers(d)), None)] if e)
    unexpected = [d for d in found if not any(e.covers(d) for e in EXPECTED)]
    sentences = [d for d in unexpected if d.is_sentence]
    failing = [d for d in unexpected if not d.is_sentence]
    for name, error in broken.items():
        print(f"{name}: could not be compared\n{error}")
    _print_differences(failing, arguments.most)
    _print_sentences(sentences, arguments.sentences, arguments.most)
    for expected, times in used.items():
        print(f"expected, {times} times: {expected.where}: {expected.reason}")
    if not arguments.only and not arguments.skip:
        for expected in EXPECTED:
            if expected not in used:
                print(f"expected, and not met: {expected.where}: {expected.reason}")
    if skipped:
        print(f"{len(skipped)} differences in sections that were skipped")
    taken = time.monotonic() - start
    counted = f"{len(failing)} differences, {len(sentences)} sentences changed"
    print(f"{len(set(names) - set(broken))} of {len(names)} compared in {taken:.0f} s: {counted}")
    if broken:
        print(f"FAILED: {len(broken)} could not be compared: {', '.join(sorted(broken))}")
    return 1 if failing or broken or (arguments.strict and sentences) else 0


def _print_differences(found: Sequence[Difference], most: int) -> None:
    by_policy: dict[str, list[Difference]] = {}
    for difference in found:
        by_policy.setdefault(difference.policy, []).append(difference)
    for policy in sorted(by_policy):
        own = by_policy[policy]
        print(f"{policy}: {len(own)} differences")
        for difference in own[:most]:
            print(f"  {difference.section}/{difference.path}")
            print(f"    before  {shown(difference.before)}\n    after   {shown(difference.after)}")
        if len(own) > most:
            print(f"  ... and {len(own) - most} more (--most)")


def _print_sentences(found: Sequence[Difference], all_of_them: bool, most: int) -> None:
    """Each change of a sentence once, with the number of its places; those with other numbers always."""
    if not found:
        return
    changes: dict[tuple[str, str], list[Difference]] = {}
    for difference in found:
        changes.setdefault((difference.before, difference.after), []).append(difference)
    other = {pair for pair in changes if numbers_of(pair[0]) != numbers_of(pair[1])}
    print(f"{len(found)} sentences changed ({len(changes)} different ones, {len(other)} of them with other numbers)")
    listed = [pair for pair in changes if all_of_them or pair in other]
    for before, after in listed if all_of_them else listed[:most]:
        places = changes[before, after]
        note = ", other numbers" if (before, after) in other else ""
        print(f"  {places[0].where} ({len(places)} places{note})")
        print(f"    before  {shown(before)}\n    after   {shown(after)}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.guard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("record", "write down what is"), ("compare", "list what differs from what was recorded")):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--only", nargs="+", default=[], metavar="NAME", help="names or patterns, as 'bag*'")
        command.add_argument("--processes", type=int, default=2, metavar="N", help="at once; 2 without it")
    command.add_argument("--sentences", action="store_true", help="list every changed sentence")
    command.add_argument("--strict", action="store_true", help="a changed sentence fails, too")
    command.add_argument("--most", type=int, default=12, metavar="N", help="differences to list of a policy; else 12")
    command.add_argument("--skip", nargs="+", default=[], metavar="SECTION", help="sections to leave out: described")
    command.add_argument("--keep", type=Path, metavar="FOLDER", help="write what was found there, to look at")
    commands.add_parser("list", help="print the names")
    arguments = parser.parse_args()
    if arguments.command == "list":
        from tests.support import guard_record

        print("\n".join(guard_record.names()))
        return 0
    if arguments.command == "record":
        return record(arguments.only, arguments.processes)
    return compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
