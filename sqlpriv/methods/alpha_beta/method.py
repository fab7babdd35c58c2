"""The alpha-beta algorithm as a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta import terms
from sqlpriv.methods.alpha_beta.bags import terms as bag_terms
from sqlpriv.methods.alpha_beta.bags import verify as bag_verify
from sqlpriv.methods.alpha_beta.bags import write as bag_write
from sqlpriv.methods.alpha_beta.bags.weights import is_bag
from sqlpriv.methods.alpha_beta.bags.weights import make_weights as make_bag_weights
from sqlpriv.methods.alpha_beta.best import best_p
from sqlpriv.methods.alpha_beta.policy import OPTIONS, AlphaBetaPolicy
from sqlpriv.methods.alpha_beta.verify import meaning, own_checks
from sqlpriv.methods.alpha_beta.weights import expected_by_share, make_weights
from sqlpriv.methods.alpha_beta.write import write
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.randomized.instance import refuse_copies
from sqlpriv.methods.randomized.method import Randomized
from sqlpriv.methods.randomized.plan import RandomizedPlan
from sqlpriv.methods.randomized.stated import shared_columns
from sqlpriv.methods.randomized.terms import Asked, Terms
from sqlpriv.methods.randomized.verify import Meaning
from sqlpriv.methods.randomized.weights import AllWeights, Expected, expected
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Layout, Names
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class AlphaBeta(Randomized[AlphaBetaPolicy]):
    """Every row is kept with alpha + beta, everything else of the domain is added with beta."""

    name = "alpha_beta"
    policy = AlphaBetaPolicy
    options = OPTIONS
    noise_tag = "alpha_beta"

    def make_terms(self, source: Source, policy: AlphaBetaPolicy, asked: Asked) -> Terms:
        """The coins for a bound, what they guarantee and cost."""
        make = bag_terms.make_terms if policy.is_bag else terms.make_terms
        return make(source, policy, asked)

    def plan(self, source: Source, policy: AlphaBetaPolicy, request: Request) -> RandomizedPlan:
        """Read domains and table, and find the terms; equal rows need slots of their own."""
        plan = super().plan(source, policy, request)
        if not is_bag(plan.terms.coins):
            refuse_copies(source, plan.terms.slots)
        return plan

    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""
        assert isinstance(plan.policy, AlphaBetaPolicy)
        if plan.policy.is_bag:
            return bag_write.write(plan, edition, request, tells_size=True)
        return write(plan, plan.policy, edition, request)

    def stated_weights(self, calls: Calls, file: ReleaseFile) -> AllWeights:
        """What the macros give for the parameters that a file states."""
        if is_bag(file.parameters):
            return make_bag_weights(calls, file.parameters, by_shares=bool(shared_columns(file)))
        numbers = file.parameters
        return make_weights(calls, numbers, int(numbers["slots"]), int(numbers["view"]))

    def expected(self, plan: RandomizedPlan) -> Expected:
        """The weights by which the table tells the error of estimates beforehand; of a sequence, for its first view."""
        calls, coins, slots = plan.source.calls, plan.terms.coins, plan.terms.slots
        if "rate" in coins:
            return expected_by_share(calls, coins, slots)
        if is_bag(coins):
            return expected(calls, make_bag_weights(calls, coins, by_shares=plan.terms.by_value is not None))
        return expected(calls, make_weights(calls, coins, slots, 1))

    def best_for(self, plan: RandomizedPlan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
        """The p of a bag with the smallest errors."""
        p = best_p(plan, self.expected, queries)
        return {} if p is None else {"p": p}

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of its mechanism hold; of slots and distinct tuples the policy says against whom."""
        layout = super().layout_of(file)
        return layout if is_bag(file.parameters) else replace(layout, from_policy=("adversary",))

    def numbers(self, file: ReleaseFile) -> Names:
        """Which numbers its files hold."""
        if is_bag(file.parameters):
            return bag_verify.declared_numbers(file)
        return Names(frozenset({"alpha", "beta"}), frozenset({"n_public", "rate", "persist"}))

    def meaning(self, calls: Calls, file: ReleaseFile) -> Meaning:
        """What the numbers of a file guarantee."""
        return (bag_verify.meaning if is_bag(file.parameters) else meaning)(calls, file)

    def own_checks(self, calls: Calls, file: ReleaseFile) -> Iterator[Check]:
        """Whether the coins are those of the bound, or at least as private, against the adversary of the guarantee."""
        return (bag_verify.own_checks if is_bag(file.parameters) else own_checks)(calls, file)


METHOD = AlphaBeta()
