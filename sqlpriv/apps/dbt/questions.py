"""`{{ sqlpriv.ask("...") }}`: a question about a release of the project, as plain SQL over the copy of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlpriv.apps.dbt.policies import default_output
from sqlpriv.apps.dbt.release import inner_schema, over_copies
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import folded, literal
from sqlpriv.publishing import method_of
from sqlpriv.release.file import open_file
from sqlpriv.release.views import Rewriter, View
from sqlpriv.rewrite.bind.parse import parsed
from sqlpriv.rewrite.bind.time_of_asking import time_of_asking


@dataclass(frozen=True)
class _Model:
    """A model of the project that is released."""

    database: str
    schema: str
    name: str
    output: str

    def is_named_by(self, table: exp.Table) -> bool:
        """Whether a table of a question is this model; what the question leaves out may be anything."""
        names = ((table.name, self.name), (table.db, self.schema), (table.catalog, self.database))
        return all(folded(given) == folded(own) for given, own in names if given)


def rewrite_question(request: dict[str, Any], folder: Path) -> None:
    """Put the SQL of a question about a model of the project in `folder` into the request, or refuse it.

    While nothing is built, a release that is not there is an error of the SQL.
    """
    models = [_model(given) for given in request["releases"]]
    tree = parsed(request["question"], now=time_of_asking(request["question"]))
    tables = list(tree.find_all(exp.Table))
    model = _model_of(models, tables)
    path = folder / model.output
    if not path.is_file() and not request["builds"]:
        request["sql"] = f"select error({literal(f'sqlpriv: {model.name} is not released yet: run dbt build')})"
        return
    with open_file(path) as file:
        view = View("question", _with_short_name(request["question"], tree, model), float(request["confidence"]))
        sql = Rewriter(method_of(file), file).by_full_name(view)
        request["sql"] = over_copies(sql, file.catalog, (model.database, inner_schema(model.schema, model.name)))


def _with_short_name(question: str, tree: exp.Expr, model: _Model) -> str:
    """The question with the name of the table alone, where dbt has written a database and a schema before it."""
    long = [table for table in tree.find_all(exp.Table) if table.db and model.is_named_by(table)]
    for table in long:
        table.set("db", None)
        table.set("catalog", None)
    return tree.sql("duckdb") if long else question


def _model(given: dict[str, Any]) -> _Model:
    policy = given.get("policy") or {}
    release = policy.get("release") or {} if isinstance(policy, dict) else {}
    return _Model(
        given["database"], given["schema"], given["name"], str(release.get("output") or default_output(given["name"]))
    )


def _model_of(models: list[_Model], tables: list[exp.Table]) -> _Model:
    named = [model for model in models if any(model.is_named_by(table) for table in tables)]
    if len(named) == 1:
        return named[0]
    listed = ", ".join(sorted(model.name for model in models)) or "none"
    if named:
        raise InputError(f"a question is about one release at a time; join the answers of two, of {listed}")
    raise InputError(f"the question reads no model that is released (materialized: private_release): there is {listed}")
