"""A session of Spark for the tests, on two cores of this machine."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest


def session() -> Any:
    """The one session of a run; it ends with the process."""
    pytest.importorskip("pyspark", reason="Spark has an environment of its own: make test-spark")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
