"""A release made in a scratch folder, as publishing would make it, and entered nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from sqlpriv import publishing
from sqlpriv.engine import translate
from sqlpriv.errors import ReleaseError
from sqlpriv.methods import METHODS
from sqlpriv.methods.draft import first_edition, given_key
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.methods.randomized.coins import read_key
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import remove_partial
from sqlpriv.release.ledger.entry import now


@contextmanager
def rehearsed(policy: Policy, folder: Path, key_file: Path | None, request: Request) -> Iterator[tuple[Plan, Written]]:
    """The release that a policy would make, in a file of the folder, while its private table is open.

    It is planned, refused, written and verified as publishing does it, so what does not come out here would not there.
    With the same key it is, to the last row, what publishing would give as the first release of the table.
    """
    method = METHODS[policy.method]
    given = given_key(method, policy, key_file if method.draws else None)
    path = folder / f"{method.name}.duckdb"
    with publishing.open_private(policy) as source:
        before = policy.table.state()
        found = method.plan(source, policy, request)
        found.refuse(request)
        edition = first_edition(found, read_key(None) if given is None else given)
        try:
            made, _ = publishing.make_file(method, found, edition, now()[:10], path, request, before)
            yield found, Written(path, edition.view, made)
        except duckdb.Error as error:
            raise translate(error) from None
        except OSError:
            raise ReleaseError("cannot write in the folder for temporary files; set TMPDIR to another") from None
        finally:
            remove_partial(path)
