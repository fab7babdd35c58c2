"""A plan with all that publishing would refuse, under the same key and ledger; nothing is written."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.core.errors import InputError, PolicyError, ReleaseError
from sqlpriv.core.facts import Facts, OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.draft import given_key, make_draft
from sqlpriv.methods.method import Request
from sqlpriv.policy.file import Policy
from sqlpriv.publishing import NO_OUTPUT, foretold, planned, refused, target_of
from sqlpriv.release.ledger.rules import refuse_unknown_release
from sqlpriv.release.ledger.show import ledger_of
from sqlpriv.release.ledger.store import read_ledger


def dry_run(
    policy: Policy,
    output: Path | None = None,
    key_file: Path | None = None,
    ledger_file: Path | None = None,
    on_progress: OnProgress = None,
    *,
    time_limit: float | None = None,
) -> Facts:
    """The plan, refused also where publishing with the same key and ledger would be; nothing is written."""
    with planned(policy, Request(time_limit=time_limit, on_progress=on_progress)) as plan:
        facts, target = foretold(plan, output), target_of(policy, output)
        try:
            if target is None:
                raise PolicyError(NO_OUTPUT)
            key = given_key(METHODS[policy.method], policy, key_file)
            book = read_ledger(ledger_of(policy, ledger_file), policy.table)
            refuse_unknown_release(book, target, policy.table.name)
            if book.entries or policy.budget is not None:
                make_draft(METHODS[policy.method], plan, key, book, target)
        except (InputError, PolicyError, ReleaseError) as error:
            return refused(facts, str(error))
    return facts
