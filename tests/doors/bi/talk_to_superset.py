"""Runs in Superset's own environment: makes one, connects it to a release, and does what people do with it.

Arguments: a folder, and a JSON of what to do: `uri`, `schema`, `table`, and `charts`, query contexts by name. Prints
one line of JSON: the tables it lists, their columns, the rows of each chart, and the values of filters.
"""

import json
import logging
import os
import sys
from pathlib import Path

folder, wanted = Path(sys.argv[1]), json.loads(sys.argv[2])
CONFIG = """
SECRET_KEY = "only for a test that lives a minute"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = False
PREVENT_UNSAFE_DB_CONNECTIONS = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
"""
(folder / "superset_config.py").write_text(CONFIG.format(folder=folder), encoding="utf-8")
os.environ |= {"SUPERSET_CONFIG_PATH": str(folder / "superset_config.py"), "SUPERSET_HOME": str(folder)}
logging.disable(logging.WARNING)

import superset  # noqa: E402
from flask_migrate import upgrade  # noqa: E402
from superset.app import create_app  # noqa: E402

app = create_app()
with app.app_context():
    upgrade(directory=str(Path(superset.__file__).parent / "migrations"))
    security = superset.appbuilder.sm
    superset.appbuilder.add_permissions(update_perms=True)
    security.sync_role_definitions()
    security.add_user("admin", "a", "b", "a@b.c", security.find_role("Admin"), password="a test")
client = app.test_client()
headers: dict[str, str] = {}


def call(method: str, path: str, body: object = None) -> dict:
    answer = getattr(client, method)(f"/api/v1/{path}", json=body, headers=headers)
    got = answer.get_json(silent=True)
    if answer.status_code >= 400 or got is None:
        raise SystemExit(f"{method} {path}: {answer.status_code} {answer.get_data(as_text=True)[:2000]}")
    return got


login = {"username": "admin", "password": "a test", "provider": "db", "refresh": False}
headers["Authorization"] = f"Bearer {call('post', 'security/login', login)['access_token']}"
database = call("post", "database/", {"database_name": "release", "sqlalchemy_uri": wanted["uri"]})["id"]
tables = call("get", f"database/{database}/tables/?q=(schema_name:{wanted['schema']})")["result"]
made = {"database": database, "schema": wanted["schema"], "table_name": wanted["table"]}
dataset = call("post", "dataset/", made)["id"]
columns = call("get", f"dataset/{dataset}")["result"]["columns"]
charts = {}
for name, query in wanted["charts"].items():
    source = {"id": dataset, "type": "table"}
    asked = {"datasource": source, "queries": [query], "result_format": "json", "result_type": "full", "force": True}
    charts[name] = call("post", "chart/data", asked)["result"][0]["data"]
filters = {
    column: call("get", f"datasource/table/{dataset}/column/{column}/values/")["result"] for column in wanted["filters"]
}
told = {
    "tables": [t["value"] for t in tables],
    "columns": {c["column_name"]: c["type"] for c in columns},
    "charts": charts,
    "filters": filters,
}
print(json.dumps(told, default=str))
