"""What a method declares, and what is the same for all whose release is one file without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.methods.method import Request
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Keys
from sqlpriv.release.file import ReleaseFile


@dataclass(frozen=True, eq=False)
class Declares:
    """What reading a policy needs to know of a method (policy.file.Declared), and whether it throws coins."""

    name: str
    policy: type[Policy]
    roles: Mapping[str, Keys]
    options: Keys
    sections: tuple[str, ...] = ("require",)
    draws: bool = False


class OneFile(Declares):
    """A method without noise, and without views that follow each other."""

    def tuples_for(self, rows: int) -> None:
        """There is no noise, and no domain to make it from."""
        return

    def refuse_queries(self, request: Request, why: str = "") -> None:
        """A plan tells the errors of answers beforehand where coins make them, and only there."""
        if request.queries:
            why = why or f"a release by {self.name} throws no coins, so there is no standard error of its answers"
            raise InputError(f"{why}; only plans by noisy_counts, alpha_beta and frapp give that of a query")

    def only(self, files: Sequence[ReleaseFile]) -> ReleaseFile:
        """The one file of a release."""
        if len(files) > 1:
            raise ReleaseError(f"{files[0].name} is a release by {self.name}, of which there are no further views")
        return files[0]
