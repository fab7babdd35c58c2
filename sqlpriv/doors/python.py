"""The commands as calls: what `sqlpriv.check` and its siblings do. Each returns Facts; nobody prints anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv import publishing
from sqlpriv.checks import requirements
from sqlpriv.checks.run import Job
from sqlpriv.checks.run import check as run_check
from sqlpriv.errors import InputError
from sqlpriv.facts import Facts, OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.policy import draft
from sqlpriv.policy.file import Policy
from sqlpriv.release.ledger.show import show_ledger
from sqlpriv.table.source import open_source


def check(
    data: Any,
    qis: str | Sequence[str] | Sequence[Sequence[str]],
    sensitive: str | Sequence[str] = (),
    *,
    person: str | None = None,
    require: str | Sequence[str] = (),
    database: str | Path | None = None,
    read_options: Mapping[str, Any] | None = None,
    worst: int = 5,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Facts:
    """Report every privacy model on a table, and judge it against requirements.

    `data` is a file, with `database` a table of it, or a data frame of pandas or polars, an Arrow table or a DuckDB
    relation. `qis` is one combination of columns, or a list of combinations. `read_options` are those of read_csv.
    """
    job = Job(
        qis=_combinations(qis),
        sensitive=_names(sensitive),
        person=person,
        requirements=tuple(requirements.parse(text) for text in _names(require)),
        worst=worst,
        show_values=show_values,
    )
    with open_source(data, None if database is None else Path(database), read_options) as source:
        return run_check(source, job, on_progress).facts()


def init(
    data: str | Path,
    output: str | Path = "policy.toml",
    *,
    method: str | None = None,
    database: str | Path | None = None,
    force: bool = False,
) -> Facts:
    """Look at a table and write a policy for it, for you to review; without a method one is proposed."""
    target, held = Path(output), None if database is None else Path(database)
    draft.check_target(target, str(data), held, force)
    proposed = draft.draft(str(data), held, target.parent, METHODS, method)
    draft.write(proposed, target)
    return proposed.facts()


def ledger(policy: Policy | str | Path | None = None, ledger_file: str | Path | None = None) -> Facts:
    """What has been released from the table of a policy; without one, all that the ledger holds."""
    read = policy if policy is None or isinstance(policy, Policy) else publishing.read_policy(policy)
    return show_ledger(read, None if ledger_file is None else Path(ledger_file))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _combinations(qis: str | Sequence[str] | Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """One combination, or several: a list of names is one, a list of lists is several."""
    if isinstance(qis, str):
        return ((qis,),)
    alone = [isinstance(q, str) for q in qis]
    if not alone or (any(alone) and not all(alone)):
        raise InputError("qis is a list of column names, or a list of such lists: write ['zip', 'age']")
    return (_names([str(q) for q in qis]),) if all(alone) else tuple(_names(q) for q in qis)
