"""What a file of a release by sampled k-anonymity declares: its numbers, and the groups of its columns."""

from __future__ import annotations

import json
import math

from sqlpriv.core.errors import ReleaseError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.sdgs.groups import GROUPS, Group, groups_of
from sqlpriv.methods.sdgs.terms import SdgsTerms, guaranteed
from sqlpriv.release.file import ReleaseFile

FOUR = ("epsilon", "delta", "k", "beta")


def declared_groups(file: ReleaseFile) -> tuple[Group, ...]:
    """The groups that a file declares; one of all columns, where it declares none."""
    names = [str(c["name"]) for c in file.attributes]
    return groups_of(json.loads(file.about[GROUPS]) if GROUPS in file.about else [names])


def wrong_groups(file: ReleaseFile) -> bool:
    """Whether a file does not say in which group each of its columns is, once and in the order of the columns."""
    if GROUPS not in file.about:
        return False
    names = [str(c["name"]) for c in file.attributes]
    try:
        given = json.loads(file.about[GROUPS])
    except (ValueError, RecursionError):
        return True
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(group, list) and group for group in given):
        return True
    if sorted(str(name) for group in given for name in group) != sorted(names):
        return True
    return any(group != [name for name in names if name in group] for group in given)


def declared_terms(calls: Calls, file: ReleaseFile) -> SdgsTerms:
    """What the four numbers of a file guarantee."""
    refuse_no_numbers(file)
    numbers = file.parameters
    four = {name: numbers[name] for name in FOUR}
    each, of_persons = int(numbers["rows_each"]), file.about["unit"] == "person"
    return guaranteed(calls, four, numbers["node_epsilon"], each, of_persons, len(declared_groups(file)))


def refuse_no_numbers(file: ReleaseFile) -> None:
    """Refuse to answer by numbers that are none, or by groups that are none: anybody may have written the file."""
    numbers = file.parameters
    finite = all(value is not None and math.isfinite(value) for value in numbers.values())
    some = finite and numbers["k"] >= 1 and numbers["rows_each"] >= 1 and 0 < numbers["beta"] < 1
    if not some or wrong_groups(file):
        raise ReleaseError(f"{file.name} is no release, or was changed: its numbers or groups are none")
