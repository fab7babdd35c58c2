"""Write a FRAPP release: a record stays where it is, or goes to any tuple of the domain, all equally likely."""

from __future__ import annotations

from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.frapp.mechanism import Replacement
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.write import row_weights, write_facts, write_published


def write(plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
    """All tables of the release, into the file that is attached."""
    mechanism = plan.calibration.mechanism
    assert isinstance(mechanism, Replacement)
    weights = mechanism.weights(plan.source.calls)
    write_facts(plan, edition, weights, {"stay": mechanism.stay, "move": mechanism.move, "rows": mechanism.rows})
    moved = _moved(plan, mechanism, edition.prefix)
    return Made(write_published(plan, [moved], row_weights(weights.view["view"]), request), mechanism.rows)


def _moved(plan: RandomizedPlan, mechanism: Replacement, prefix: str) -> str:
    """SQL for the elements where the records land.

    A record that may also go where it was stays with probability (stay - move) + m move / m = stay in all.
    """
    ids = [f"i{a}" for a in range(len(plan.columns))]
    record = " || ',' || ".join(f"CAST({i} AS VARCHAR)" for i in ids) + " || '|' || CAST(copy AS VARCHAR)"
    own = plan.elements.numbers([*ids, "0"])
    bits = ", ".join(
        inlined(f"_coin_bits({literal(prefix)}, {literal(f'record|{h}|')} || {record})") + f" AS h{h}"
        for h in range(1 + -(-len(own) // 4))
    )
    limbs = ", ".join(
        f"CASE WHEN {inlined('_coin_share(h0)')} < {mechanism.kept!r} THEN {number} "
        f"ELSE {inlined(f'_coin_word(h{1 + i // 4}, {i % 4})')} % {size} END AS {column}"
        for i, (number, size, column) in enumerate(zip(own, plan.elements.limbs, plan.elements.columns, strict=True))
    )
    records = f"SELECT *, unnest(range(copies)) AS copy FROM {plan.tuples.name}"
    return f"SELECT {limbs} FROM (SELECT *, {bits} FROM ({records}))"
