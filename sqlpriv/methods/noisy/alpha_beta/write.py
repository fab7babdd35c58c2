"""Write an alpha-beta release: rows kept at random among noise from the domain, in ranges of elements.

A later view of a sequence also needs the views before. A release of a sequence holds its own view and the union of
those before, so the last one is enough. That it is the right one is checked by the ledger: a view built on other views
would not keep the guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Sequence, Uniform
from sqlpriv.methods.noisy.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.noisy.alpha_beta.slots import refuse_copies, take_slots
from sqlpriv.methods.noisy.draws import source_draws, uniform_draws
from sqlpriv.methods.noisy.mechanism import WEIGHTS
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.tuples import Elements
from sqlpriv.methods.noisy.write import PUBLISHED, row_weights, write_facts, write_published
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.table.domains import NumberedColumn

_FILE = "earlier_release"


def write(plan: RandomizedPlan, policy: AlphaBetaPolicy, edition: Edition, request: Request) -> Made:
    """All tables of the release, into the file that is attached."""
    source, mechanism = plan.source, plan.calibration.mechanism
    assert isinstance(mechanism, Uniform)
    mechanism = replace(mechanism, view=edition.view)
    refuse_copies(plan.tuples, mechanism.slots)
    with source.scratch.nested() as scratch:
        earlier = read_earlier(scratch, plan, policy, edition) if edition.view > 1 else None
        instance = take_slots(scratch, plan.tuples, plan.elements, edition.slots)
        # Where neither k nor n_public is given, nothing public is made from the number of rows.
        size = {"n_public": plan.calibration.n_public} if policy.k is not None or policy.n_public is not None else {}
        write_facts(plan, edition, mechanism.weights(source.calls), {**mechanism.numbers, **size})
        expected, variance = _write_published(scratch, plan, mechanism, edition, request, instance, earlier)
    condition = "WHERE __view" if policy.views > 1 else ""
    rows = int(fetch(source.con, f"SELECT count(*) FROM {PUBLISHED} {condition}")[0][0])
    return Made(rows, expected, variance)


def _write_published(
    scratch: Scratch,
    plan: RandomizedPlan,
    mechanism: Uniform,
    edition: Edition,
    request: Request,
    instance: Relation,
    earlier: Relation | None,
) -> tuple[float, float]:
    """Table published, from the elements of the table and of earlier views; the rows expected, and their variance."""
    calls, elements, limbs = plan.source.calls, plan.elements, plan.elements.listed
    weights = mechanism.weights(calls).view
    if isinstance(mechanism, ByShares) and plan.aliases is not None:
        beta = _noise_of_element(plan, mechanism)
        keep = inlined(f"_source_keep({mechanism.alpha!r}, {beta})")
        draws = [source_draws(calls, elements, mechanism.rate, plan.aliases, edition.prefix)]
        by_share = zip(mechanism.row_weights(beta), WEIGHTS, strict=True)
        shown = ", ".join(f"{inlined(sql)} AS __{part}" for sql, part in by_share)
        expected = _expected_by_shares(plan, mechanism, instance, keep, beta)
    else:
        keep = inlined(mechanism.keep)
        draws = list(uniform_draws(calls, elements, mechanism.beta, edition.prefix))
        shown = row_weights(weights["view"])

    # Elements of the table are in the view by a draw of their own, and so are those of earlier views that have gone
    # from the table: they are likelier to stay than other noise. Noise must not fall on either.
    share = inlined(f"_coin_share(_coin_bits({literal(edition.prefix)}, 'keep|' || {elements.text}))")
    kept = f"SELECT {limbs} FROM {instance.name} WHERE {share} < {keep}"
    excluded, left = f"SELECT {limbs} FROM {instance.name}", 0
    if earlier is not None and isinstance(mechanism, Sequence):
        gone = scratch.table(f"SELECT {limbs} FROM {earlier.name} ANTI JOIN {instance.name} USING ({limbs})", "gone")
        left = gone.count()
        persist = float(calls.value(f"_persists({mechanism.keep}, {mechanism.persist!r})"))
        kept += f" UNION ALL SELECT {limbs} FROM {gone.name} WHERE {share} < {persist!r}"
        excluded += f" UNION ALL FROM {gone.name}"
        kinds = {"in_view AND in_earlier": weights["both"], "in_view": weights["view"]}
        shown = row_weights(weights["earlier"], kinds)
    kept_elements, excluded_elements = scratch.table(kept, "kept"), scratch.table(excluded, "excluded")
    ranges = []
    for drawn in draws:
        chosen = (
            f"SELECT {limbs} FROM {kept_elements.name} WHERE {drawn.inside} UNION ALL "
            f"SELECT {limbs} FROM (SELECT DISTINCT {limbs} FROM ({drawn.sql})) "
            f"ANTI JOIN (SELECT {limbs} FROM {excluded_elements.name} WHERE {drawn.inside}) USING ({limbs})"
        )
        if earlier is not None:
            chosen = (
                f"SELECT {limbs}, bool_or(now) AS in_view, bool_or(NOT now) AS in_earlier FROM ("
                f"SELECT {limbs}, true AS now FROM ({chosen}) UNION ALL "
                f"SELECT {limbs}, false AS now FROM {earlier.name} WHERE {drawn.inside}) GROUP BY ALL"
            )
        ranges.append(chosen)

    # In a sequence a row says its slot, and in which views it is.
    more = []
    if plan.policy.views > 1:
        views = ("in_view", "in_earlier") if earlier is not None else ("true", "false")
        more = [f"1 + {elements.digit(-1)} AS __slot", "{} AS __view, {} AS __earlier".format(*views)]
    write_published(plan, ranges, shown, request, more)
    if isinstance(mechanism, ByShares):
        return expected, expected  # a variance is at most the mean
    numbers = (mechanism.alpha, mechanism.beta, mechanism.persists)
    mean, variance = calls.row("sequence_rows", *numbers, instance.count(), left, float(elements.count))
    return float(mean), float(variance)


def _noise_of_element(plan: RandomizedPlan, mechanism: ByShares) -> str:
    """SQL for the probability that an element is noise, where noise follows shares."""
    shares = " * ".join(
        f"(SELECT list(share ORDER BY id) FROM {column.table.name})[1 + {plan.elements.digit(place)}]"
        for place, column in enumerate(plan.columns)
    )
    return inlined(f"_source_noise({mechanism.rate!r}, {mechanism.slots}, {shares})")


def _expected_by_shares(plan: RandomizedPlan, mechanism: ByShares, instance: Relation, keep: str, beta: str) -> float:
    """How many rows noise by shares makes of the table, in the mean.

    `keep` and `beta` are SQL for how likely an element of the table, and noise on an element, is in the view.
    """
    con, noise = plan.source.con, 0.0
    # The sum of beta over all elements of the domain, from the series of the weights.
    for power, weights in mechanism.weights(plan.source.calls).domain.items():
        sums = 1.0
        for column in plan.columns:
            sums *= float(fetch(con, f"SELECT sum(share ** {power}) FROM {column.table.name}")[0][0])
        noise -= weights.weight * sums
    noise *= mechanism.alpha
    kept = float(fetch(con, f"SELECT coalesce(sum({keep}), 0) FROM {instance.name}")[0][0])
    # What falls on the table's own elements is drawn, too, and dropped.
    fallen = float(fetch(con, f"SELECT coalesce(sum({beta}), 0) FROM {instance.name}")[0][0])
    return kept + (noise - fallen)


# -------------------- the views before, in a sequence


def read_earlier(scratch: Scratch, plan: RandomizedPlan, policy: AlphaBetaPolicy, edition: Edition) -> Relation:
    """The elements of the views before, from the last release: a file the policy names, or one next to the output."""
    last, table = edition.earlier[-1], policy.table
    folder = table.path(policy.output).parent if policy.output else table.folder
    for path in [table.path(name) for name in policy.earlier] or [folder / last.output]:
        if not path.is_file():
            continue
        with attached(scratch.con, path, _FILE, error=ReleaseError):
            if ReleaseFile(scratch.con, _FILE, path.name).about.get("release") != last.coins:
                continue
            found, lost = elements_of(scratch, f"{_FILE}.{SCHEMA}.published", plan.columns, plan.elements)
        if lost:
            raise ReleaseError(
                f"{path.name!r} holds rows outside the domains of the policy; it is not a view of this sequence"
            )
        return found
    raise ReleaseError(
        f"view {last.view} of the sequence, published as {last.output!r}, is needed for the next one and is not among "
        "the files given; name it in earlier = [...]"
    )


def elements_of(
    scratch: Scratch, published: str, columns: Several[NumberedColumn], elements: Elements
) -> tuple[Relation, int]:
    """The elements of the published rows of a view, and the number of rows that are outside the domains."""
    joins = " ".join(
        f"JOIN {c.table.name} AS d{i} ON d{i}.value IS NOT DISTINCT FROM p.{quoted(c.name)}"
        for i, c in enumerate(columns)
    )
    limbs = elements.select([*(f"d{i}.id" for i in range(len(columns))), "p.__slot - 1"])
    found = scratch.table(f"SELECT {limbs} FROM {published} AS p {joins}", "earlier")
    return found, Relation(scratch.con, published).count() - found.count()
