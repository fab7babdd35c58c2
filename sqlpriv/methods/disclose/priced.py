"""What rows of labels lose, by other macros than those that chose them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.dictionary import Attribute, Attributes, asked, paired
from sqlpriv.methods.disclose.entries import ENTRIES, entry_tables, priors
from sqlpriv.methods.disclose.minds import of_persons
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.sqltext import literal
from sqlpriv.table.source import Source

_PRICES, _PHI, _PSI = "disclose_prices", "disclose_phi", "disclose_psi"
_LOSSES = "disclose_losses"


def priced(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> tuple[float, float]:
    """Risk and worst loss of rows of labels a0, a1, ..., and of the person where people mind differently."""
    _write_prices(source, policy, attributes, rows)
    known = [a for a in attributes if a.is_known]
    psi = literal(_PSI) if policy.psi_of_cells else repr(policy.psi)
    harms = f"{literal([a.link for a in known])}, {literal(_PHI)}, {psi}"
    if len(policy.held) > 1:
        _write_losses(source, policy, known, harms)
        loss = inlined(f"_taken_together({literal(policy.judge)}, prior, loss)")
        each = f"SELECT {loss} AS loss FROM {_LOSSES} GROUP BY place"
        figures = f"SELECT {inlined('_mean_of(loss, 1)')}, max(loss) FROM ({each})"
    else:
        call = f"{source.need('disclosure_risk')}({literal(_PRICES)}, {literal(ENTRIES)}, {harms})"
        figures = f"SELECT risk, worst FROM {call}"
    ((risk, worst),) = asked(source, known, figures)
    return float(risk), float(worst)


def _write_losses(source: Source, policy: DisclosePolicy, known: Sequence[Attribute], harms: str) -> None:
    """The loss of every row against each dictionary."""
    parts = []
    for table, prior in zip(entry_tables(policy), priors(policy), strict=True):
        call = f"{source.need('disclosure_risk_records')}({literal(_PRICES)}, {literal(table)}, {harms}, -1)"
        parts.append(f"SELECT record.place AS place, {prior!r} AS prior, loss FROM {call}")
    asked(source, known, f"CREATE OR REPLACE TABLE {_LOSSES} AS {' UNION ALL '.join(parts)}")


def _write_prices(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> None:
    """The rows with what they weigh where their people are found and, if cells weigh something then, where not."""
    for table, given in _steps(source, policy, attributes, rows):
        asked(source, attributes, f"CREATE OR REPLACE TABLE {_PRICES} AS SELECT {given} FROM {table}")


def _steps(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> Iterator[tuple[str, str]]:
    form, persons = literal(policy.form), of_persons(policy)
    macro = source.need("personal_sensitivity" if persons else "sensitivity")
    weights = literal([a.weighed for a in attributes] + paired(policy))
    numbered = f"record.*, row_number() OVER () AS place, sensitivity AS {_PHI}"
    yield f"{macro}({literal(rows)}, {weights}, {form}{persons})", numbered
    if policy.psi_of_cells:
        missed, psi = literal([a.missed for a in attributes]), inlined(f"_psi_with(sensitivity, {policy.psi!r})")
        yield f"{source.need('sensitivity')}({literal(_PRICES)}, {missed}, {form})", f"record.*, {psi} AS {_PSI}"
