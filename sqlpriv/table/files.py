"""The files that hold a table: one, all of a folder, or those that a pattern such as people/*.parquet names.

Several files are read as one table, by the names of their columns. Folders below the table that are called like
zip=01305 are a column zip, which is text unless its type is declared: only the owner knows whether the zero counts.
What is hidden (names with _ or . in front, which Spark writes next to its rows) is not read. A folder of Delta, Iceberg
or Hudi is refused: it also holds rows that were deleted.

CSV files are read with one format and one type for each column, found in all of them. A column without a value in one
file, or with 01305 in another, would else have another type there. Where files differ, the column is text, as written.

Names of folders hold values of the table, so no message names a folder or file below it.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.core.engine import fetch, is_database, run, translate
from sqlpriv.core.errors import InputError, InternalError, SqlprivError
from sqlpriv.core.sqltext import csv_arguments, file_literal, folded, literal, quoted, reader

CSV = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", re.IGNORECASE)
_CSV_BY_NAME = re.compile(r"\.(csv|tsv)(\.gz|\.zst)?$", re.IGNORECASE)
_PARQUET = re.compile(r"\.parquet$", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")
_PARTITION = re.compile(r"([^=/]+)=([^=/]*)")
_LAKES = {"_delta_log": "Delta", "metadata/*.metadata.json": "Iceberg", ".hoodie": "Hudi"}
_NUMBERS = frozenset({"BIGINT", "DOUBLE"})
_TIMES = frozenset({"DATE", "TIMESTAMP"})


@dataclass(frozen=True)
class DataFiles:
    """The files of a table, in the order of their names."""

    label: str
    """What messages call the table."""
    paths: tuple[Path, ...]
    partitions: tuple[str, ...] = ()
    """The columns that the names of folders hold."""
    above: tuple[str, ...] = ()
    """Names of that form in folders above the table, which DuckDB would take for columns, too."""
    is_one: bool = False
    """Whether the source names a single file."""

    @property
    def is_parquet(self) -> bool:
        """Whether they are Parquet by their names."""
        return bool(self.paths) and _PARQUET.search(self.paths[0].name) is not None

    def state(self) -> tuple[tuple[str, int, int], ...]:
        """Name, size and time of every file."""
        return tuple((str(path), (found := path.stat()).st_size, found.st_mtime_ns) for path in self.paths)

    def includes(self, other: Path) -> bool:
        """Whether a file is one of them, maybe by another name."""
        return bool(_identity(other) & self._identities)

    @cached_property
    def _identities(self) -> frozenset[tuple[int, int]]:
        return frozenset(number for path in self.paths for number in _identity(path))


def _identity(path: Path) -> frozenset[tuple[int, int]]:
    """What a file is, by whatever name; nothing if there is none."""
    try:
        found = path.stat()
    except OSError:
        return frozenset()
    return frozenset({(found.st_dev, found.st_ino)})


def table_name(source: str, folder: Path) -> str:
    """What a table is called by its source: the file, or the folder of the table; no folder that holds values."""
    named = Path(source).name
    if not _is_file(folder / source) and (_PATTERN.search(source) or _PARTITION.fullmatch(named)):
        parts = Path(os.path.normpath(folder.absolute() / _fixed(source))).parts
        named = next((part for part in reversed(parts) if not _PARTITION.fullmatch(part)), "")
    return named.lstrip(".").partition(".")[0] or "data"


def find_files(source: str, folder: Path = Path()) -> DataFiles:
    """The files that a source names; it starts at a folder."""
    path = folder / source
    if _is_file(path):
        return DataFiles(path.name, (path,), is_one=True)
    if not _is_folder(path) and not _PATTERN.search(source):
        raise InputError(f"there is no file {source!r}; for a table name its database with --database")
    label, root = table_name(source, folder), folder / _fixed(source)
    given = [path]
    if not _is_folder(path):
        given = [folder / found for found in glob.glob(source, root_dir=folder, recursive=True)]
    paths = tuple(sorted({file for found in given for file in _below(found, label) if not _is_hidden(file, root)}))
    if not paths:
        raise InputError(f"there is no Parquet or CSV file for {source!r}")
    _refuse_lake({root.absolute(), *root.absolute().parents, *(path.parent for path in paths)}, label)
    keys = {_partitions(path.relative_to(root).parts[:-1]) for path in paths}
    if len(keys) > 1:
        raise InputError(f"the files of {label} are in folders of different columns; name files of one kind")
    above = _partitions(root.absolute().parts)
    if twice := {folded(key) for key in above} & {folded(key) for key in next(iter(keys))}:
        raise InputError(f"folders above {label} hold the column {min(twice)!r}, too; name the upper one as the source")
    return DataFiles(label, paths, next(iter(keys)), above)


def files_beside(source: str) -> Path:
    """A path in the folder in which lists of values lie next to a table."""
    return Path(source) if not _PATTERN.search(source) or _is_file(Path(source)) else _fixed(source) / "files"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _fixed(source: str) -> Path:
    """The part of a source before its first pattern."""
    parts = Path(source).parts
    stars = [i for i, part in enumerate(parts) if _PATTERN.search(part)]
    return Path(*parts[: stars[0]]) if stars else Path(source)


def _partitions(folders: Sequence[str]) -> tuple[str, ...]:
    return tuple(found[1] for name in folders if (found := _PARTITION.fullmatch(name)))


def _below(found: Path, label: str) -> Iterator[Path]:
    """The files of a folder and of those in it, or the file itself."""
    if not found.is_dir():
        yield found
        return

    def refuse(error: OSError) -> None:
        raise InputError(f"a folder of {label} cannot be read by this user; change who may read it") from None

    seen: set[str] = set()
    for folder, inner, names in os.walk(found, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        inner[:] = [] if real in seen else inner  # a link to a folder above
        seen.add(real)
        yield from (Path(folder, name) for name in names)


def _is_hidden(path: Path, root: Path) -> bool:
    return any(p.startswith((".", "_")) and not _PARTITION.fullmatch(p) for p in path.relative_to(root).parts)


def _refuse_lake(folders: set[Path], label: str) -> None:
    for mark, lake in _LAKES.items():
        if any(next(folder.glob(mark), None) for folder in folders):
            raise InputError(
                f"{label} is a table of {lake}, whose files also hold deleted rows; read it by an engine that knows "
                "it, or export it"
            )


@dataclass(frozen=True)
class Reading:
    """How the files of a table are read."""

    files: DataFiles
    options: Mapping[str, Any]
    """Those of read_csv; none for other files."""
    partitions: Mapping[str, str] = field(default_factory=dict)
    """The columns in names of folders, with their types."""

    @property
    def is_csv(self) -> bool:
        """Whether they are read as CSV, so that types are detected."""
        return bool(self.options) or CSV.search(self.files.paths[0].name) is not None

    def sql(self, con: duckdb.DuckDBPyConnection, texts: Iterable[str] = ()) -> str:
        """The rows, for CREATE VIEW; `texts` are read as text. Whether there is a header is not detected again."""
        options = dict(self.options)
        if names := list(texts):
            if "header" not in options:
                sniffed = f"sniff_csv({csv_arguments(str(self.files.paths[0]), options)})"
                options["header"] = bool(fetch(con, f"SELECT HasHeader FROM {sniffed}")[0][0])
            options["types"] = {**options.get("types", {}), **dict.fromkeys(names, "VARCHAR")}
        if self.files.is_one:
            return f"FROM {reader(str(self.files.paths[0]), options)}"
        given = [f"{'delim' if k == 'delimiter' else k} = {literal(v)}" for k, v in options.items()]
        given.append("union_by_name = true")
        hive = "true" if self.partitions or self.files.above else "false"
        given.append(f"hive_partitioning = {hive}")
        if self.partitions:
            given += ["hive_types_autocast = false", f"hive_types = {literal(self.partitions)}"]
        called = "read_parquet" if self.files.is_parquet else "read_csv"
        rows = f"{called}([{', '.join(map(file_literal, self.files.paths))}], {', '.join(given)})"
        return f"SELECT * {_exclude(self.files.above)} FROM {rows}"


def _exclude(names: Sequence[str]) -> str:
    return f"EXCLUDE ({', '.join(map(quoted, names))})" if names else ""


def read_files(con: duckdb.DuckDBPyConnection, files: DataFiles, options: Mapping[str, Any], view: str) -> Reading:
    """Make a view of the rows of some files; how they are read."""
    _refuse_unreadable(files, options)
    try:
        reading = Reading(files, options) if files.is_one else _one_format(con, files, options)
        run(con, f"CREATE VIEW {view} AS {reading.sql(con)}")
    except duckdb.Error as error:
        if options and files.is_one:
            raise InputError(
                f"{files.label} cannot be read as CSV with the options {', '.join(options)}; check what they say of "
                "the file"
            ) from None
        if isinstance(translated := translate(error), InternalError):
            raise InputError(
                f"{files.label} cannot be read as what {'its name says' if files.is_one else 'the names say'}: "
                "Parquet, CSV and JSON files are called .parquet, .csv and .json; rename or convert "
                f"{'it' if files.is_one else 'them'}"
            ) from None
        raise translated from None
    return reading


def _refuse_unreadable(files: DataFiles, options: Mapping[str, Any]) -> None:
    label, first = files.label, files.paths[0]
    if files.is_one:
        if first.stat().st_size == 0:
            raise InputError(f"{label} is empty: there is nothing to read; write the table there first")
        if is_database(first):
            raise InputError(
                f"{label} is a DuckDB database: name one of its tables, and the file with --database {label} "
                f"(in a policy: database = {label!r})"
            )
        return
    if not all(os.access(path, os.R_OK) for path in files.paths):
        raise InputError(f"some files of {label} cannot be read by this user; change who may read them")
    kinds = {_kind(path, options) for path in files.paths}
    if len(kinds) > 1 or "" in kinds:
        raise InputError(
            f"{label} holds files of several kinds, or others than Parquet and CSV; name those of one kind by a "
            "pattern, such as 'people/*.parquet'"
        )


def _kind(path: Path, options: Mapping[str, Any]) -> str:
    if _PARQUET.search(path.name):
        return "parquet"
    return "csv" if (CSV if options else _CSV_BY_NAME).search(path.name) else ""


def _one_format(con: duckdb.DuckDBPyConnection, files: DataFiles, options: Mapping[str, Any]) -> Reading:
    given = options.get("types", {})
    types: dict[str, str] = dict(given) if isinstance(given, Mapping) else {}
    spelt = {folded(name): name for name in files.partitions}
    declared = {spelt[folded(name)]: kind for name, kind in types.items() if folded(name) in spelt}
    partitions = {name: declared.get(name, "VARCHAR") for name in files.partitions}
    own = {name: kind for name, kind in types.items() if folded(name) not in spelt}
    rest = {name: value for name, value in options.items() if name != "types"}
    if files.is_parquet:
        if rest or own:
            raise InputError(
                f"{files.label} is in Parquet files, which say themselves how to read them; of options, only types of "
                "columns that are folders have a use"
            )
        return Reading(files, {}, partitions)
    if own or not isinstance(given, Mapping):
        rest["types"] = own if isinstance(given, Mapping) else given
    full = DataFiles(files.label, tuple(p for p in files.paths if p.stat().st_size), files.partitions, files.above)
    if not full.paths:
        raise InputError(f"the files of {files.label} are empty: there is nothing to read; write the table there first")
    return Reading(full, _Sniffed(con, full, rest).options(), partitions)


class _Sniffed:
    """What DuckDB detects in each of some CSV files, and one format for all of them."""

    def __init__(self, con: duckdb.DuckDBPyConnection, files: DataFiles, given: Mapping[str, Any]) -> None:
        self._con, self._files, self._given = con, files, given
        wanted = '"Delimiter", "Quote", "Escape", "HasHeader", "Columns", "DateFormat", "TimestampFormat"'
        self._found = [
            fetch(con, f"SELECT {wanted} FROM sniff_csv({csv_arguments(str(path), given)})")[0] for path in files.paths
        ]

    def options(self) -> dict[str, Any]:
        """The options with which all of them are read."""
        chosen = dict(self._given)
        for place, name in enumerate(("delimiter", "quote", "escape")):
            seen = {found[place] for found in self._found} - {"", "(empty)", None}
            if name not in chosen and not (name == "delimiter" and "delim" in chosen) and seen:
                if len(seen) > 1:
                    raise InputError(
                        f"the CSV files of {self._files.label} are not written alike: they differ in their {name}; "
                        f"say in [table] which it is, or write them alike"
                    )
                chosen[name] = seen.pop()
        chosen.setdefault("header", any(bool(found[3]) for found in self._found))
        names = self._names(chosen)
        if not chosen.get("all_varchar") and isinstance(given := chosen.get("types", {}), Mapping):
            declared = {folded(name) for name in given}
            detected = {n: self._type(n, chosen) for n in names if folded(n) not in declared}
            chosen["types"] = {**given, **detected}
            for place, name in ((5, "dateformat"), (6, "timestampformat")):
                formats = {found[place] for found in self._found} - {None}
                if len(formats) == 1:
                    chosen.setdefault(name, formats.pop())
        return chosen

    def _names(self, options: Mapping[str, Any]) -> list[str]:
        """The columns that all of them have.

        A file without the header of the others has values where they have names: no message repeats them.
        """
        texts = {k: v for k, v in options.items() if k not in {"types", "all_varchar"}}
        names = [self._read_names(path, texts) for path in self._files.paths]
        if any(sorted(map(folded, own)) != sorted(map(folded, names[0])) for own in names):
            raise InputError(
                f"the CSV files of {self._files.label} do not have the same columns: each must begin with the same "
                "header (say header = false in [table] where none has one)"
            )
        return names[0]

    def _read_names(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        arguments = csv_arguments(str(path), {**options, "all_varchar": True, "hive_partitioning": False})
        try:
            return [str(name) for name, *_ in fetch(self._con, f"DESCRIBE FROM read_csv({arguments})")]
        except SqlprivError:
            return []

    def _type(self, name: str, options: Mapping[str, Any]) -> str:
        """The type of a column in all files: text where they differ, but for files that have no value of it."""
        kinds: dict[tuple[str, str | None], list[Path]] = {}
        for path, found in zip(self._files.paths, self._found, strict=True):
            by_name = {folded(str(c["name"])): str(c["type"]) for c in found[4]}
            kind = by_name.get(folded(name), "VARCHAR")
            way = (found[5] if kind == "DATE" else found[6]) if kind in _TIMES else None
            kinds.setdefault((kind, way), []).append(path)
        texts = kinds.get(("VARCHAR", None), [])
        if len(kinds) > 1 and texts and not self._has_values(name, texts, options):
            del kinds["VARCHAR", None]
        if len(kinds) == 1:
            return next(iter(kinds))[0]
        return "DOUBLE" if {kind for kind, _ in kinds} <= _NUMBERS else "VARCHAR"

    def _has_values(self, name: str, paths: Sequence[Path], options: Mapping[str, Any]) -> bool:
        texts = {k: v for k, v in options.items() if k not in {"types", "all_varchar"}}
        for path in paths:
            arguments = csv_arguments(str(path), {**texts, "all_varchar": True, "hive_partitioning": False})
            if fetch(self._con, f"SELECT 1 FROM read_csv({arguments}) WHERE {quoted(name)} <> '' LIMIT 1"):
                return True
        return False
