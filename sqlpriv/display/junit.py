"""What was judged, as JUnit writes it: for machines that show tests, such as those of continuous integration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, legible, shown_number


@dataclass(frozen=True)
class JudgedCase:
    """One thing that was judged; `passed` is None where it is claimed, and cannot be judged from what is there."""

    name: str
    passed: bool | None
    said: str


def cases(facts: Facts) -> Iterator[JudgedCase]:
    """What a check required, or what was verified of a release."""
    for verdict in facts.content.get("requirements", ()):
        where = ", ".join(verdict["qis"]) + (f" / {verdict['sensitive']}" if verdict["sensitive"] else "")
        said = f"is {shown_number(verdict['value'])}"
        yield JudgedCase(f"{verdict['requirement']} of {where}", verdict["passed"], said)
    for check in facts.content.get("checks", ()):
        yield JudgedCase(check["check"], check["passed"], check["found"])


def write_junit(facts: Facts, suite: str, target: Path) -> None:
    """Write them into a file."""
    found = list(cases(facts))
    if not found:
        raise InputError("there is nothing to judge: JUnit needs a requirement at least, as in --require 'k>=5'")
    counts = {"tests": len(found), "failures": sum(c.passed is False for c in found), "errors": 0}
    skipped = sum(c.passed is None for c in found)
    attributes = {"name": legible(suite), **{k: str(v) for k, v in counts.items()}, "skipped": str(skipped)}
    root = ElementTree.Element("testsuites")
    whole = ElementTree.SubElement(root, "testsuite", attributes)
    for case in found:
        one = ElementTree.SubElement(whole, "testcase", {"classname": "sqlpriv", "name": legible(case.name)})
        if case.passed is False:
            ElementTree.SubElement(one, "failure", {"message": legible(case.said or "fails")})
        elif case.passed is None:
            ElementTree.SubElement(one, "skipped", {"message": "claimed: the file alone cannot show it"})
    try:
        ElementTree.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)
    except OSError:
        raise InputError(f"cannot write {str(target)!r}; is its folder there and yours?") from None
