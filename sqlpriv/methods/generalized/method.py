"""What methods that publish labels share of the seam: what attackers read in their files, and how these are opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlpriv.methods.generalized.answers import open_labelled
from sqlpriv.methods.generalized.cells import labelled_records, why_only_labels
from sqlpriv.methods.generalized.layout import file_contents
from sqlpriv.methods.generalized.policy import LabelledPolicy
from sqlpriv.methods.generalized.posterior import OF_CLASSES, largest_share, posterior_by_share
from sqlpriv.methods.method import L, Method
from sqlpriv.methods.records import Records
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source

P = TypeVar("P", bound=LabelledPolicy)


class LabelledMethod(Method[P, L]):
    """A method whose release is one table of labels, with what is below them."""

    posterior_holds = OF_CLASSES

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return file_contents(file)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Each class of rows with the leaves below its labels."""
        return open_labelled(self.only(files))

    def records(
        self,
        file: ReleaseFile,
        names: Sequence[str],
        source: Source | None,
        policy: Policy | None,
        also: str | None = None,
    ) -> Records:
        """The rows, with the values that each label may stand for."""
        return labelled_records(file, names, source, policy, also)

    def why_no_classes(self, file: ReleaseFile) -> str | None:
        """Sensitive values may be shown as labels."""
        return why_only_labels(file)

    def posterior(self, plan: L, file: ReleaseFile, times: float) -> float | None:
        """By the largest share of a sensitive value in a class."""
        return posterior_by_share(plan, largest_share(file), times)

    def looks_at_values(self, policy: P) -> bool:
        """Requirements on sensitive columns do."""
        return any(r.measure.needs_sensitive for r in policy.requirements)
