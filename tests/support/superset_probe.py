"""Run by Superset's own Python: connect Superset to a server, and draw charts through its REST API.

python superset_probe.py URI: prints one JSON object with what each request gave.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

CONFIG = """
SECRET_KEY = "only for this test, and long enough for it"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
"""
PASSWORD = "only for this test"


def main(uri: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "superset_config.py"
        config.write_text(CONFIG.format(folder=folder), encoding="utf-8")
        os.environ["SUPERSET_CONFIG_PATH"] = str(config)
        os.environ["SUPERSET_HOME"] = folder
        print(json.dumps(asked(uri)))


def asked(uri: str) -> dict[str, Any]:
    from superset.app import create_app

    app = create_app()
    with app.app_context():
        from flask_migrate import upgrade
        from superset import appbuilder, security_manager
        from superset.extensions import db

        upgrade(directory=str(Path(sys.modules["superset"].__file__ or "").parent / "migrations"))
        appbuilder.add_permissions(update_perms=True)
        security_manager.sync_role_definitions()
        admin = security_manager.find_role("Admin")
        security_manager.add_user("admin", "a", "b", "admin@example.org", admin, password=PASSWORD)
        db.session.commit()
    return Charts(app.test_client()).draw(uri)


class Charts:
    """Requests of a dashboard."""

    def __init__(self, client: Any) -> None:
        self._client = client
        given = {"username": "admin", "password": PASSWORD, "provider": "db", "refresh": True}
        token = client.post("/api/v1/security/login", json=given).get_json()["access_token"]
        self._headers = {"Authorization": f"Bearer {token}"}

    def draw(self, uri: str) -> dict[str, Any]:
        made = self._post("/api/v1/database/", {"database_name": "release", "sqlalchemy_uri": uri})
        database = made["id"]
        tables = self._get(f"/api/v1/database/{database}/tables/?q=(schema_name:public)")
        given = {"database": database, "schema": "public", "table_name": "visits"}
        dataset = self._post("/api/v1/dataset/", given)["id"]
        columns = self._get(f"/api/v1/dataset/{dataset}")["result"]["columns"]
        counted = {"label": "n", "expressionType": "SQL", "sqlExpression": "COUNT(*)"}
        grouped = {
            "columns": ["product"], "metrics": [counted], "orderby": [["product", True]], "row_limit": 100,
            "filters": [{"col": "region", "op": "IN", "val": ["north", "south"]}],
        }  # fmt: skip
        series = {
            "columns": [{"label": "day", "sqlExpression": "day", "columnType": "BASE_AXIS", "timeGrain": "P1M",
                         "expressionType": "SQL"}, "product"],
            "metrics": [counted], "granularity": "day", "extras": {"time_grain_sqla": "P1M"}, "row_limit": 100,
            "series_columns": ["product"], "series_limit": 2, "series_limit_metric": counted,
            "time_range": "2024-01-01 : 2025-01-01", "is_timeseries": True,
            "filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2025-01-01"}],
        }  # fmt: skip
        return {
            "tables": sorted(table["value"] for table in tables["result"]),
            "columns": {column["column_name"]: column["type"] for column in columns},
            "grouped": self._chart(dataset, grouped),
            "series": self._chart(dataset, series),
            "values": self._get(f"/api/v1/datasource/table/{dataset}/column/region/values/"),
        }

    def _chart(self, dataset: int, query: dict[str, Any]) -> Any:
        asked = {"datasource": {"id": dataset, "type": "table"}, "queries": [query], "force": True}
        found = self._post("/api/v1/chart/data", {**asked, "result_format": "json", "result_type": "full"})
        result = found.get("result", [found])[0]
        return {key: result.get(key) for key in ("data", "error", "query", "errors", "message") if result.get(key)}

    def _get(self, path: str) -> Any:
        return self._client.get(path, headers=self._headers).get_json()

    def _post(self, path: str, given: dict[str, Any]) -> Any:
        return self._client.post(path, json=given, headers=self._headers).get_json()


if __name__ == "__main__":
    main(*sys.argv[1:])
