"""What policies share of methods that publish columns apart inside buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.checks.measures import MEASURES
from sqlpriv.checks.requirements import Requirement
from sqlpriv.methods.generalized.policy import hierarchy_by_text
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import COARSE_KEYS, Fail, Keys
from sqlpriv.table.domains import domain_by_text

ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": (),
    "quasi-identifier": COARSE_KEYS,
    "sensitive": COARSE_KEYS,
    "other": COARSE_KEYS,
    "drop": (),
}
PUBLISHED = ("quasi-identifier", "sensitive", "other")


@dataclass(frozen=True)
class BucketedPolicy(Policy):
    """A policy whose columns are published as they are, apart from each other.

    Hierarchies and domains are there for other methods; here they say no more than which columns are texts.
    """

    @property
    def by_text(self) -> tuple[str, ...]:
        """Columns whose hierarchy or domain goes by text, as the methods have it that make use of them."""
        return tuple(
            c.name
            for c in self.columns
            if c.role in PUBLISHED
            and (
                ((hierarchy := c.given["hierarchy"]) is not None and hierarchy_by_text(hierarchy))
                or ((domain := c.given["domain"]) is not None and domain_by_text(domain))
            )
        )

    def check(self, fail: Fail) -> None:
        """One person at most, and nothing is required that buckets cannot be judged by."""
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        for required in self.requirements:
            if not can_judge(required):
                raise fail(
                    f"{self.method} cannot judge {required.text} of its buckets; there are "
                    f"{', '.join(judged_names())}, without tables of their own", "require",
                )  # fmt: skip


def judged_names() -> list[str]:
    """The measures that can be required of buckets, in the order of the alphabet."""
    return sorted(m.name for m in MEASURES.values() if m.reads is not None and not m.reads_tables)


def can_judge(requirement: Requirement) -> bool:
    """Whether the buckets of a file are enough to judge by rows: no population, prior or hierarchy is needed."""
    return requirement.name in judged_names() and set(requirement.arguments) == set(requirement.measure.names)
