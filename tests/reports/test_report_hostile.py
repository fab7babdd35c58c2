"""Whoever names columns, labels, files and questions cannot write into the page, nor read the private table by it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sqlpriv
from sqlpriv.core.sqltext import quoted

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.one_version]

ENDS = "</script><script>alert(1)</script>"
ODD = "\u2028\u2029\u202e\"'`${x}--><img src=x onerror=alert(2)>"
ZIP, ILL = f"zip{ENDS}", f"ill{ODD}"
SECRETS = ("SECRET-measles", "SECRET-mumps</script>", "SECRET-flu")
POLICY = f"""
[table]
source = "people.csv"
[columns]
age = {{ role = "quasi-identifier", hierarchy = "ranges:5,10", domain = "range:20..59" }}
{json.dumps(ZIP)} = {{ role = "quasi-identifier", hierarchy = "h<i>.csv" }}
{json.dumps(ILL)} = {{ role = "sensitive" }}
[require]
k = 3
distinct_l = {{ {json.dumps(ILL)} = 2 }}
[release]
method = "generalize"
output = "o<script>.duckdb"
coexists_because = {json.dumps("why" + ENDS)}
"""
# What a question of the workload reaches for, and what is said of it.
REACHES = {
    f"SELECT count(*) FROM people WHERE error('sqlpriv: ' || {quoted(ILL)}) IS NULL": "fails on a row",
    f"SELECT count(*) FROM people WHERE CAST({quoted(ILL)} AS INTEGER) = 3": "fails on a row",
    f"SELECT count(*), error('sqlpriv: ' || any_value({quoted(ILL)})) FROM people": "fails on a row",
    "SELECT max(length(content)) FROM read_text('people.csv')": "does not answer it",
    "SELECT count(*) FROM 'people.csv'": "does not answer it",
    "SELECT count(*) FROM another": "there is no table 'another'",
    f'SELECT sum("no{ENDS}") FROM people': "there is no column 'no",
    "SELECT count(*) FROM duckdb_tables()": "only 'people' and its public tables can be read",
}
ANSWERED = [
    f"-- {ENDS}{ODD}\nSELECT count(*) FROM people WHERE age < 30",
    f'SELECT {quoted(ZIP)}, count(*) AS "n{ENDS}" FROM people GROUP BY 1',
]


class Tags(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}


def pages(folder: Path) -> dict[str, str]:
    """The owner's, that of the release, and that of two, without the code that draws."""
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(20 + i % 40, ("40219", "40288")[i % 2], SECRETS[i % 3]) for i in range(480)]
        csv.writer(file).writerows([("age", ZIP, ILL), *rows])
    with (folder / "h<i>.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows([(value, f"{ENDS}{ODD}", "*") for value in ("40219", "40288")])
    (folder / "p<u>.toml").write_text(POLICY, encoding="utf-8")
    (folder / "w<s>.sql").write_text(";\n".join([*ANSWERED, *REACHES]), encoding="utf-8")
    sqlpriv.publish(folder / "p<u>.toml", ledger_file=folder / "ledger.db")
    release = folder / "o<script>.duckdb"
    sqlpriv.report(folder / "p<u>.toml", folder / "owner.html", workload=folder / "w<s>.sql")
    sqlpriv.report(release, folder / "public.html")
    sqlpriv.report(release, folder / "two.html", compare=release)
    texts = {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in ("owner", "public", "two")}
    return {name: re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL) for name, text in texts.items()}


def test_names_stay_text_and_questions_tell_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlpriv.reports.columns.FREQUENT", 10_000)  # what many rows have is an example
    written = pages(tmp_path)
    for name, text in written.items():
        found = Tags()
        found.feed(text)
        assert "alert(1)" in text, name  # the names are there, as text
        assert found.tags["script"] == text.count('<script type="application/json"'), name
        assert not {"img", "i", "u", "s"} & set(found.tags), name
        assert not [a for a in found.attributes if a.startswith("on") or a in {"src", "style", "srcdoc"}], name
        assert not re.search("[\u2028\u2029\u202e]", text), name
        assert "SECRET" not in text, name
        assert "40219" not in text, name
    drawn = re.findall(
        r'<script type="application/json" data-chart="[\w-]+">(.*?)</script>', written["owner"], re.DOTALL
    )
    assert len(drawn) >= 3
    assert all("$schema" in json.loads(text) for text in drawn)
    assert any("zip" in text for text in drawn)


def test_what_a_question_may_not_reach_is_said(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i % 40},{SECRETS[i % 3]}\n" for i in range(480))
    (tmp_path / "people.csv").write_text(f"age,ill\n{rows}", encoding="utf-8")
    (tmp_path / "policy.toml").write_text(
        '[table]\nsource = "people.csv"\n[columns]\nage = { role = "quasi-identifier", hierarchy = "ranges:5,10" }\n'
        'ill = { role = "sensitive" }\n[require]\nk = 3\n'
        '[release]\naccept = "a test"\nmethod = "generalize"\noutput = "out.duckdb"\n',
        encoding="utf-8",
    )
    asked = ["SELECT count(*) FROM people", *(sql.replace(quoted(ILL), "ill") for sql in REACHES)]
    (tmp_path / "w.sql").write_text(";\n".join(asked), encoding="utf-8")
    told = sqlpriv.compare(tmp_path / "policy.toml", tmp_path / "w.sql", methods="generalize", tune=False)
    [method] = told.content["methods"]
    why = {each["statement"]: each["why"] for each in (*told.content["left_out"], *method["refused_questions"])}
    assert sorted(why) == list(range(2, len(asked) + 1))
    for number, said in enumerate(REACHES.values(), 2):
        assert said in why[number]
    assert "SECRET" not in told.to_json()
