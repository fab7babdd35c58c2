"""Releases of every method and variant from one tiny table with one key, the words that are made of their numbers, and
files of format 9 as they were when they were written.

Files hold numbers, and a newer version makes new sentences of them: that must be a choice, seen in a diff, never an
accident. After such a change write the fixtures again, from the folder `tests`, and read the diff:

    python -c "from support.golden import regenerate; regenerate()"

`regenerate(files=True)` writes the files as well. They change with the format, and never within it: a file of an older
version of a format must verify with a newer one.
"""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import sqlpriv
from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized import write
from support.randomized_policies import KEY

FOLDER = Path(__file__).parent.parent / "fixtures" / "golden"
SENTENCES = FOLDER / "sentences.json"
_ILL = ("flu", "cold", "gout")
_ROWS = [f"p{i // 2},{20 + i % 10},{'FM'[i // 2 % 2]},{_ILL[i % 3]}\n" for i in range(60)]
TABLE = "person,age,sex,ill\n" + "".join(_ROWS) + "p99,58,F,gout\n"
_COARSE = """person = { role = "PERSON" }
age = { role = "quasi-identifier", hierarchy = "ranges:5,10", domain = "range:20..59" }
sex = { role = "quasi-identifier", hierarchy = "suppression" }
ill = { role = "sensitive", domain = ["flu", "cold", "gout", "mumps"] }
"""
_NOISY = """person = { role = "PERSON" }
age = { role = "quasi-identifier", domain = "range:20..59" }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
ill = { role = "sensitive", domain = ["flu", "cold", "gout", "mumps"] }
"""
_WEIGHED = _COARSE.replace('"range:20..59"', '"range:20..59", weight = 1').replace(
    '"suppression"', '"suppression", weight = 0.5'
)
_SHARED = _NOISY.replace('"mumps"]', '"mumps"], share = [0.4, 0.3, 0.2, 0.1]')
_LESS = _NOISY.replace("range:20..59", "range:20..39").replace('"range:20..39"', '"range:20..39", outside = "drop"')
_SLOTS = 'method = "alpha_beta"\nslots = 60\nd = 0.02\ngamma = 0.4\nuncovered = "all of them are invented"\n'
_COUNTS = 'method = "noisy_counts"\ngamma = 0.6\nn_public = 60\n'
_SAMPLE = 'method = "sdgs"\nepsilon = 2\nbeta = 0.3\nk = 3\n'
_NODE = 'node = { age = 2, sex = 1 }\nnode_is_public = "the levels of a register that is public"\n'


def _release(columns: str, release: str, require: str = "", *, persons: bool = False) -> str:
    given = columns.replace("PERSON", "person" if persons else "drop")
    required = f"[require]\n{require}\n" if require else ""
    return f'[table]\nsource = "people.csv"\n[columns]\n{given}{required}[release]\n{release}'


POLICIES = {
    "generalize": _release(_COARSE, 'method = "generalize"\nnode = { age = 3, sex = 1 }\n', "k = 2\ndistinct_l = 2"),
    "generalize, counted": _release(_COARSE, 'method = "generalize"\nnode = { age = 3, sex = 1 }\n', "k = 2"),
    "generalize, suppressed": _release(
        _COARSE, 'method = "generalize"\nsuppression = 0.1\n', "k = 3\nt = { ill = 0.9 }"
    ),
    "generalize, kept": _release(
        _COARSE, 'method = "generalize"\nsuppression = 0.3\nkeep_suppressed = true\n', "k = 3"
    ),
    "generalize, persons": _release(
        _COARSE, 'method = "generalize"\ncoexists_because = "for the auditors alone"\n', "k = 2", persons=True
    ),
    "mondrian": _release(_COARSE, 'method = "mondrian"\n', "k = 4"),
    "hilbert": _release(_COARSE, 'method = "hilbert"\n', "k = 4\nt = { ill = 0.9 }"),
    "anatomy": _release(_COARSE, 'method = "anatomy"\n', "distinct_l = { ill = 2 }"),
    "slicing": _release(
        _COARSE,
        'method = "slicing"\ngroups = [["age"], ["sex", "ill"]]\nbucket = 10\naccept = "all of them are invented"\n',
    ),
    "sdgs": _release(_COARSE, _SAMPLE + _NODE),
    "sdgs, groups": _release(_COARSE, _SAMPLE + _NODE + 'groups = [["age", "sex"], ["ill"]]\n'),
    "disclose": _release(_WEIGHED, 'method = "disclose"\ngoal = "utility"\nc = 0.5\n'),
    "alpha_beta, slots": _release(_NOISY, _SLOTS),
    "alpha_beta, distinct": _release(_NOISY, _SLOTS.replace("slots = 60", 'duplicates = "distinct"')),
    "alpha_beta, independent": _release(_NOISY, _SLOTS + 'adversary = "independent"\n'),
    "alpha_beta, view of three": _release(_NOISY, _SLOTS + 'adversary = "independent"\nviews = 3\n'),
    "noisy_counts": _release(_LESS, _COUNTS),
    "noisy_counts, size of the table": _release(_NOISY, _COUNTS.replace("n_public = 60\n", "")),
    "noisy_counts, persons": _release(_NOISY, _COUNTS.replace("0.6", "0.9") + "rows_each = 2\n", persons=True),
    "noisy_counts, by shares": _release(_SHARED, _COUNTS),
    "frapp": _release(_NOISY, 'method = "frapp"\nd = 0.02\ngamma = 0.5\nuncovered = "all of them are invented"\n'),
}
FILES = (
    "generalize",
    "generalize, counted",
    "mondrian",
    "anatomy",
    "sdgs, groups",
    "disclose",
    "alpha_beta, slots",
    "noisy_counts",
    "frapp",
)
"""One release for each family of files; each is kept as it was written."""


def publish_golden(name: str, folder: Path) -> Path:
    """The release of one of the policies."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.csv").write_text(TABLE, encoding="utf-8")
    (folder / "policy.toml").write_text(POLICIES[name], encoding="utf-8")
    (folder / "key").write_bytes(KEY)
    key = folder / "key" if _draws(name) else None
    path = folder / "release.duckdb"
    from_so_many = 0 if name.endswith("counted") else write.COUNTED_FROM
    with mock.patch.object(write, "COUNTED_FROM", from_so_many):
        sqlpriv.publish(folder / "policy.toml", path, key_file=key, ledger_file=folder / "ledger.db", force=True)
    return path


def _draws(name: str) -> bool:
    return METHODS[name.partition(",")[0]].draws


def sentences(path: Path) -> dict[str, Any]:
    """The words that are made of a release's numbers, whatever its day and version."""
    shown = sqlpriv.show(path)
    kept = ("guarantee", "promise", "details", "warnings")
    found: dict[str, Any] = {key: shown.content[key] for key in kept if shown.content.get(key)}
    found["requirements"] = {r["requirement"]: r["guarantee"] for r in shown.content["requirements"]}
    found["reasons"] = [line for line in str(shown).splitlines() if "in the owner's words:" in line]
    return found


def golden_file(name: str, folder: Path) -> Path:
    """A file as it was written by the version that began its format, unpacked."""
    path = folder / "release.duckdb"
    with gzip.open(packed(name)) as stored, path.open("wb") as target:
        shutil.copyfileobj(stored, target)
    return path


def packed(name: str) -> Path:
    """Where it is kept."""
    return FOLDER / f"{name.replace(', ', '-').replace(' ', '-')}.duckdb.gz"


def regenerate(*, files: bool = False) -> None:
    """Write the sentences again and, where that is asked for, the files."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(POLICIES):
            path = publish_golden(name, Path(folder) / str(number))
            found[name] = sentences(path)
            if files and name in FILES:
                packed(name).write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    SENTENCES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
