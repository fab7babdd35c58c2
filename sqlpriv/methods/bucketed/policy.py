"""What policies share of methods that publish columns apart inside buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.methods.bucketed.layout import JUDGED
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Fail, Keys

ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": (),
    "quasi-identifier": (),
    "sensitive": (),
    "other": (),
    "drop": (),
}
PUBLISHED = ("quasi-identifier", "sensitive", "other")


@dataclass(frozen=True)
class BucketedPolicy(Policy):
    """A policy whose columns are published as they are, apart from each other."""

    def check(self, fail: Fail) -> None:
        """One person at most, and nothing is required that buckets cannot be judged by."""
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        for required in self.requirements:
            extra = set(required.measure.extra or {})
            if required.name not in JUDGED or set(required.arguments) != extra:
                raise fail(
                    f"{self.method} cannot judge {required.text} of its buckets; there are "
                    f"{', '.join(sorted(JUDGED))}, without tables beside them", "require",
                )  # fmt: skip
