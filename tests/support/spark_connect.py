"""A program of its own that publishes a frame of Spark Connect: a process has either this or Spark itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sqlpriv

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    builder = SparkSession.builder.remote("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    frame = builder.getOrCreate().read.parquet(str(folder / "people"))
    assert type(frame).__module__.startswith("pyspark.sql.connect")
    sqlpriv.publish(folder / "policy.toml", folder / "connect.duckdb", data=frame, ledger_file=folder / "connect.db")
    os._exit(0)  # the server of the test is a child that would be waited for
