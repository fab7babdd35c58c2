"""Arguments of a type that a call does not take are refused in one sentence, before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlpriv
from sqlpriv.core.arguments import checked
from sqlpriv.core.errors import InputError
from sqlpriv.release.open import OpenRelease

FILE = "a text or a path"
POLICY = f"a Policy or {FILE}"
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = [
    (sqlpriv.publish, (42,), {}, f"publish(): policy must be {POLICY}, and it is of the type int"),
    (sqlpriv.publish, ("p.toml", 42), {}, f"publish(): output must be {FILE} or None, and it is of the type int"),
    (sqlpriv.publish, ("p.toml",), {"key_file": b"k"}, f"publish(): key_file must be {FILE} or None"),
    (sqlpriv.publish, ("p.toml",), {"ledger_file": 42}, "publish(): ledger_file must be"),
    (sqlpriv.publish, ("p.toml",), {"force": "no"}, "publish(): force must be True or False"),
    (sqlpriv.plan, (None,), {}, f"plan(): policy must be {POLICY}, and it is of the type NoneType"),
    (sqlpriv.plan, ("p.toml",), {"queries": "SELECT 1"}, "plan(): queries must be a list of texts"),
    (sqlpriv.plan, ("p.toml",), {"time_limit": "1 s"}, "plan(): time_limit must be a number or None"),
    (sqlpriv.plan, ("p.toml",), {"on_progress": 1}, "plan(): on_progress must be a function or None"),
    (sqlpriv.attach, ("x", "r.duckdb"), {}, "attach(): con must be a DuckDB connection, and it is of the type str"),
    (sqlpriv.attach, (duckdb, 42), {}, f"attach(): release must be {FILE}"),
    (sqlpriv.check, ("t.csv", 5), {}, "check(): qis must be a text or a list of texts or a list of lists"),
    (
        sqlpriv.check,
        ("t.csv", [5]),
        {},
        "check(): qis must be a text or a list of texts or a list of lists, and it is a list that holds int",
    ),
    (sqlpriv.check, ("t.csv", ["a"], 5), {}, "check(): sensitive must be a text or a list of texts"),
    (sqlpriv.check, ("t.csv", ["a"]), {"require": [5]}, "check(): require must be a text or a list of texts"),
    (sqlpriv.check, ("t.csv", ["a"]), {"worst": 2.5}, "check(): worst must be a whole number"),
    (sqlpriv.check, ("t.csv", ["a"]), {"read_options": []}, "check(): read_options must be a dictionary or None"),
    (sqlpriv.init, ("t.csv", 42), {}, f"init(): output must be {FILE}"),
    (sqlpriv.ledger, (42,), {}, f"ledger(): policy must be {POLICY} or None"),
    (sqlpriv.open_release, ("r.duckdb", 42), {}, f"open_release(): more_views must be {FILE}"),
    (sqlpriv.open_release, ("r.duckdb",), {"public": 3}, "open_release(): public must be a dictionary or None"),
    (sqlpriv.show, (42,), {}, f"show(): path must be {FILE}"),
    (sqlpriv.verify, ("r.duckdb", 42), {}, f"verify(): policy must be {POLICY} or None"),
    (sqlpriv.add_view, ("r.duckdb", "v", 42), {}, "add_view(): question must be a text"),
    (sqlpriv.drop_view, ("r.duckdb", 42), {}, "drop_view(): name must be a text"),
    (sqlpriv.read_policy, (42,), {}, f"read_policy(): path must be {FILE}"),
    (sqlpriv.install, (42,), {}, f"install(): path must be {FILE}"),
    (sqlpriv.load, ("x.duckdb",), {}, "load(): con must be a DuckDB connection"),
    (sqlpriv.create_view, ("x.duckdb", "v", "SELECT 1"), {}, "create_view(): con must be a DuckDB connection"),
]


@pytest.mark.parametrize(("call", "args", "more", "message"), CALLS, ids=lambda given: getattr(given, "__name__", ""))
def test_another_type_is_named(
    call: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        call(*args, **more)
    assert str(refused.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_every_call_is_checked() -> None:
    """A call that is added later is not forgotten."""
    calls = [getattr(sqlpriv, name) for name in sqlpriv.__all__ if name not in {"Facts", "SqlprivError", "__version__"}]
    assert calls
    calls += [OpenRelease.sql, OpenRelease.explain, OpenRelease.warnings]
    assert [c.__name__ for c in calls if not hasattr(c, "__wrapped__")] == []


def test_what_fits_passes_and_what_python_refuses_it_refuses() -> None:
    @checked
    def call(file: str | Path, *names: str, number: float = 1, flag: bool = False) -> tuple[Any, ...]:
        return file, names, number, flag

    assert call(Path("x"), "a", "b", number=2, flag=True) == (Path("x"), ("a", "b"), 2, True)
    with pytest.raises(InputError, match=r"call\(\): names must be a text, and it is of the type int"):
        call("x", "a", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"call\(\): number must be a number, and it is of the type bool"):
        call("x", number=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'file'"):
        call()  # type: ignore[call-arg]
