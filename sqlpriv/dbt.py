"""The plugin of dbt-duckdb under the name that a profile says: `plugins: [{module: sqlpriv.dbt}]`."""

from sqlpriv.apps.dbt.plugin import Plugin

__all__ = ["Plugin"]
