"""A program of its own that folds a table on a cluster of two executors, of which one dies in each pass."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from sqlpriv.table.engines.spark import SparkRows
from sqlpriv.table.folded import FoldedTable

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.files.minPartitionNum": "12",
    "spark.sql.files.openCostInBytes": "134217728",
}


def executors() -> list[int]:
    """The executors that are children of this process."""
    parents, found = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if "CoarseGrainedExecutorBackend" in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue

    def is_ours(number: int) -> bool:
        while number not in (0, 1, os.getpid()):
            number = parents.get(number, 0)
        return number == os.getpid()

    return [number for number in found if is_ours(number)]


def killing(spark: Any, killed: list[str], name: str) -> threading.Event:
    """Kill an executor once the next job has begun its work."""
    over = threading.Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.is_set():
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None and info.numActiveTasks and info.numCompletedTasks:
                    os.kill(executors()[0], signal.SIGKILL)
                    killed.append(name)
                    return
            time.sleep(0.002)

    threading.Thread(target=watch, daemon=True).start()
    return over


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    killed: list[str] = []
    rows = SparkRows(spark.read.parquet(str(folder / "people")))
    with duckdb.connect() as con:
        over = killing(spark, killed, "counting")
        counted = rows.histogram(con, ["age", "zip"], "counted")
        over.set()
        combinations = con.sql(f"SELECT * FROM {counted.name} ORDER BY ALL").fetchall()
        table = FoldedTable(con, rows, counted)
        over = killing(spark, killed, "digest")
        digest = table.digest
        over.set()
        over = killing(spark, killed, "sketches")
        fingerprint = table.fingerprint("a secret", None)
        over.set()
    cells = sorted([s.kind, list(s.columns), s.cells] for s in fingerprint.sketches)
    print(
        json.dumps({"killed": killed, "counted": combinations, "digest": [digest, fingerprint.digest], "cells": cells})
    )
    spark.stop()
