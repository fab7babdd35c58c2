"""The alpha-beta algorithm as a method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.alpha_beta import verify
from sqlpriv.methods.noisy.alpha_beta.mechanism import MECHANISMS, ByShares, Uniform
from sqlpriv.methods.noisy.alpha_beta.plan import calibrate
from sqlpriv.methods.noisy.alpha_beta.policy import OPTIONS, AlphaBetaPolicy
from sqlpriv.methods.noisy.alpha_beta.slots import refuse_copies
from sqlpriv.methods.noisy.alpha_beta.write import write
from sqlpriv.methods.noisy.calibration import Bound, Calibration, Meaning
from sqlpriv.methods.noisy.mechanism import AllWeights
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Layout
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class AlphaBeta(Randomized[AlphaBetaPolicy, Uniform]):
    """Every row is kept with alpha + beta, everything else of the domain is added with beta."""

    name = "alpha_beta"
    policy = AlphaBetaPolicy
    options = OPTIONS
    noise_tag = "alpha_beta"
    guarantee_macros = (("alpha_beta_guarantee", ("d", "gamma", "alpha", "beta")),)
    mechanisms = MECHANISMS

    def calibrate(self, source: Source, policy: AlphaBetaPolicy, bound: Bound) -> Calibration:
        """alpha and beta for a bound, what they guarantee and cost."""
        return calibrate(source, policy, bound)

    def plan(self, source: Source, policy: AlphaBetaPolicy, request: Request) -> RandomizedPlan:
        """Read domains and table, and calibrate the noise; equal rows need slots of their own."""
        plan = super().plan(source, policy, request)
        refuse_copies(plan.tuples, policy.slots)
        return plan

    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""
        assert isinstance(plan.policy, AlphaBetaPolicy)
        return write(plan, plan.policy, edition, request)

    def check_row_weights(self, file: ReleaseFile, mechanism: Uniform, weights: AllWeights) -> Check:
        """Where noise follows shares, those of a row follow from the shares of its values."""
        if isinstance(mechanism, ByShares):
            return verify.check_row_weights_by_shares(file, mechanism)
        return super().check_row_weights(file, mechanism, weights)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of its mechanism hold; the policy says against whom."""
        return replace(super().layout_of(file), from_policy=("adversary",))

    def meaning(self, calls: Calls, file: ReleaseFile, mechanism: Uniform) -> Meaning:
        """What the numbers of a file guarantee."""
        return verify.meaning(calls, file, mechanism)

    def own_checks(self, calls: Calls, file: ReleaseFile, mechanism: Uniform) -> Iterator[Check]:
        """Whether the noise is that of the bound, or at least as private, against the adversary of the guarantee."""
        return verify.own_checks(calls, file, mechanism)


METHOD = AlphaBeta()
