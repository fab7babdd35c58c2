"""The risk of given rows of labels, by other macros than those that chose the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import Attributes, WeightedAttribute, fetch_risk, paired
from sqlpriv.methods.disclose.entries import ENTRIES, entry_tables, priors
from sqlpriv.methods.disclose.personal_weights import person_arguments
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.table.source import Source

_SENSITIVITIES, _PHI, _PSI = "disclose_sensitivities", "disclose_phi", "disclose_psi"
_LOSSES = "disclose_losses"


def risk_of_rows(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> tuple[float, float]:
    """Risk and worst loss of a table of labels a0, a1, ..., with the person where weights are personal."""
    _write_sensitivities(source, policy, attributes, rows)
    known = [a for a in attributes if a.is_known]
    psi = literal(_PSI) if policy.psi_of_cells else repr(policy.psi)
    loss_arguments = f"{literal([a.link for a in known])}, {literal(_PHI)}, {psi}"
    if len(policy.dictionaries) > 1:
        _write_losses(source, policy, known, loss_arguments)
        loss = inlined(f"_taken_together({literal(policy.judge)}, prior, loss)")
        each = f"SELECT {loss} AS loss FROM {_LOSSES} GROUP BY place"
        figures = f"SELECT {inlined('_mean_of(loss, 1)')}, max(loss) FROM ({each})"
    else:
        call = f"{source.need('disclosure_risk')}({literal(_SENSITIVITIES)}, {literal(ENTRIES)}, {loss_arguments})"
        figures = f"SELECT risk, worst FROM {call}"
    ((risk, worst),) = fetch_risk(source, known, figures)
    return float(risk), float(worst)


def _write_losses(
    source: Source, policy: DisclosePolicy, known: Sequence[WeightedAttribute], loss_arguments: str
) -> None:
    """Write the loss of every row against each dictionary."""
    parts = []
    for table, prior in zip(entry_tables(policy), priors(policy), strict=True):
        given = f"{literal(_SENSITIVITIES)}, {literal(table)}, {loss_arguments}"
        call = f"{source.need('disclosure_risk_records')}({given}, -1)"
        parts.append(f"SELECT record.place AS place, {prior!r} AS prior, loss FROM {call}")
    fetch_risk(source, known, f"CREATE OR REPLACE TABLE {_LOSSES} AS {' UNION ALL '.join(parts)}")


def _write_sensitivities(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> None:
    """Write the rows with their sensitivity where the person is found, and with psi of cells where not."""
    for table, given in _calls(source, policy, attributes, rows):
        fetch_risk(source, attributes, f"CREATE OR REPLACE TABLE {_SENSITIVITIES} AS SELECT {given} FROM {table}")


def _calls(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> Iterator[tuple[str, str]]:
    form, persons = literal(policy.form), person_arguments(policy)
    macro = source.need("personal_sensitivity" if persons else "sensitivity")
    weights = literal([a.as_weight for a in attributes] + paired(policy))
    numbered = f"record.*, row_number() OVER () AS place, sensitivity AS {_PHI}"
    yield f"{macro}({literal(rows)}, {weights}, {form}{persons})", numbered
    if policy.psi_of_cells:
        missed, psi = (
            literal([a.as_missed_weight for a in attributes]),
            inlined(f"_psi_with(sensitivity, {policy.psi!r})"),
        )
        yield f"{source.need('sensitivity')}({literal(_SENSITIVITIES)}, {missed}, {form})", f"record.*, {psi} AS {_PSI}"
