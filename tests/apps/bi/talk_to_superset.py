"""Runs in Superset's own environment: makes one, connects it to releases, and does what people do with them.

Arguments: a folder, and a JSON of what to do by name, each with `uri`, `schema`, `table`, `charts` (query contexts by
name) and `filters` (columns). Prints one line of JSON, by the same names: the tables that are listed, the columns, the
SQL and the rows of each chart, and the values that a filter offers.
"""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

CONFIG = """
SECRET_KEY = "only for a test that lives a minute"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = False
PREVENT_UNSAFE_DB_CONNECTIONS = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
"""
PASSWORD = "only for a test"


def main(folder: Path, wanted: dict[str, dict[str, Any]]) -> None:
    config = folder / "superset_config.py"
    config.write_text(CONFIG.format(folder=folder), encoding="utf-8")
    os.environ |= {"SUPERSET_CONFIG_PATH": str(config), "SUPERSET_HOME": str(folder)}
    logging.disable(logging.WARNING)
    people = People(_made())
    print(json.dumps({name: people.look(name, **what) for name, what in wanted.items()}, default=str))


def _made() -> Any:
    """A Superset with one user."""
    from superset.app import create_app

    app = create_app()
    with app.app_context():
        from flask_appbuilder import Model
        from superset import appbuilder
        from superset.extensions import db

        Model.metadata.create_all(db.engine)  # its tables as they are now: migrations would make each of its past first
        security = appbuilder.sm
        appbuilder.add_permissions(update_perms=True)
        security.sync_role_definitions()
        security.add_user("admin", "a", "b", "a@b.c", security.find_role("Admin"), password=PASSWORD)
    return app.test_client()


class People:
    """What people do, by the REST API."""

    def __init__(self, client: Any) -> None:
        self._client, self._headers = client, dict[str, str]()
        given = {"username": "admin", "password": PASSWORD, "provider": "db", "refresh": False}
        self._headers["Authorization"] = f"Bearer {self._call('post', 'security/login', given)['access_token']}"

    def look(
        self, name: str, uri: str, schema: str, table: str, charts: dict[str, Any], filters: list[str]
    ) -> dict[str, Any]:
        """Connect to a database, and look at a table of it."""
        database = self._call("post", "database/", {"database_name": name, "sqlalchemy_uri": uri})["id"]
        tables = self._call("get", f"database/{database}/tables/?q=(schema_name:{schema})")["result"]
        chosen = {"database": database, "schema": schema, "table_name": table}
        dataset = self._call("post", "dataset/", chosen)["id"]
        columns = self._call("get", f"dataset/{dataset}")["result"]["columns"]
        values = f"datasource/table/{dataset}/column/{{}}/values/"
        return {
            "tables": sorted(one["value"] for one in tables),
            "columns": {column["column_name"]: column["type"] for column in columns},
            "charts": {title: self._chart(dataset, query) for title, query in charts.items()},
            "filters": {column: self._call("get", values.format(column))["result"] for column in filters},
        }

    def _chart(self, dataset: int, query: dict[str, Any]) -> dict[str, Any]:
        asked = {"datasource": {"id": dataset, "type": "table"}, "queries": [query], "force": True}
        [found] = self._call("post", "chart/data", {**asked, "result_format": "json", "result_type": "full"})["result"]
        return {"query": found["query"], "data": found["data"]}

    def _call(self, method: str, path: str, body: object = None) -> Any:
        answer = getattr(self._client, method)(f"/api/v1/{path}", json=body, headers=self._headers)
        found = answer.get_json(silent=True)
        if answer.status_code >= 400 or found is None:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.get_data(as_text=True)[:2000]}")
        return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
