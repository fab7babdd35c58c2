"""What a randomized release warns of: the sentences, and whether those of a file are among them and are due.

Whoever reads a release takes what it says for ours, so nobody else's sentence may stand in it.
"""

from __future__ import annotations

import json
import re

from sqlpriv.methods.randomized.domains import is_declared
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.stated import stated_combinations, stated_public
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.sqltext import folded

ROWS_ARE_PUBLIC = "frapp publishes as many rows as the table has, so their number is public"
_ACTIVE = (
    "the domains of ",
    " are what occurs in the table: the release tells that these values occur, and that no others do",
)
_SIZE = ("n_public is not declared; the number of rows rounded up, ", ", becomes public")
_NUMBER = re.compile(r"[0-9]{1,3}(,[0-9]{3})*")


def active_domains(policy: RandomizedPolicy) -> tuple[str, ...]:
    """The warning of domains that are read from the data."""
    active = [repr(c.name) for c in policy.published if c.domain == "active"]
    return (", ".join(active).join(_ACTIVE),) if active else ()


def told_size(policy: RandomizedPolicy, n_public: int) -> tuple[str, ...]:
    """The warning of a number of rows that is made from the table."""
    return (f"{n_public:,}".join(_SIZE),) if policy.told_size else ()


def wrong_declarations(file: ReleaseFile) -> list[str]:
    """Domains of which the file says what no release says of one, and combinations that are not there."""
    given = {str(r["name"]): str(r["declared"]) for r in file.rows("attributes")}
    wrong = [
        f"the domain of {name!r} is given in no known way" for name, text in given.items() if not is_declared(text)
    ]
    if not set(stated_combinations(file)) <= stated_public(file):
        wrong.append("the combinations are no public tables of the file")
    return wrong


def wrong_warnings(file: ReleaseFile, policy: Policy | None) -> list[str]:
    """What is wrong with the warnings of a file: a sentence that is not ours, or not due, or one that is missing."""
    try:
        found = json.loads(file.about["warnings"])
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        return ["the warnings are no list"]
    active = [str(r["name"]) for r in file.rows("attributes") if str(r["declared"]).endswith("active")]
    sizes = [text for text in found if _is_size(file, text)]
    domains = [text for text in found if _names(text) == _pieces(", ".join(map(repr, active)))]
    rows = [text for text in found if text == ROWS_ARE_PUBLIC]
    wrong = []
    if len(found) != len(sizes) + len(domains) + len(rows):
        wrong.append("it warns of something that no release warns of")
    if len(domains) != bool(active):
        wrong.append("the warning of domains that are read from the data does not fit them")
    if len(rows) != ("stay" in file.parameters):
        wrong.append("the warning of the number of rows does not fit the method")
    if len(sizes) > 1 or (isinstance(policy, RandomizedPolicy) and bool(sizes) != policy.told_size):
        wrong.append("the warning of n_public does not fit")
    return wrong


def _is_size(file: ReleaseFile, text: str) -> bool:
    """The warning of a size: the one that is stated, where it is."""
    number = _between(text, _SIZE)
    if number is None or not _NUMBER.fullmatch(number):
        return False
    return "n_public" not in file.parameters or number == f"{file.parameters['n_public']:,.0f}"


def _names(text: str) -> list[str] | None:
    """The columns that a warning of active domains names: in the order and the spelling of the policy."""
    named = _between(text, _ACTIVE)
    return None if named is None else _pieces(named)


def _pieces(named: str) -> list[str]:
    return sorted(folded(piece) for piece in named.split(", "))


def _between(text: str, ends: tuple[str, str]) -> str | None:
    first, last = ends
    is_such = text.startswith(first) and text.endswith(last) and len(text) > len(first) + len(last)
    return text[len(first) : len(text) - len(last)] if is_such else None
