"""The page a steward signs: in its order, without a value of a person, and true when checked again."""

from __future__ import annotations

import csv
import html
import json
import re
import subprocess
from pathlib import Path

import duckdb
import pytest
from reports.conftest import BY_METHOD, NOISE, VALUES
from support.clients import command_line, needs_command_line
from support.commands import run
from support.policies import policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv import publishing
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.methods import METHODS
from sqlpriv.reports.html import render
from sqlpriv.reports.pages import found_while_publishing, report_published
from sqlpriv.reports.recheck import recheck_sql

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.one_version]


@pytest.fixture(autouse=True)
def no_value_is_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no page here has an example cell; which cells are examples has a test of its own."""
    monkeypatch.setattr("sqlpriv.reports.columns.FREQUENT", 10_000)


@pytest.fixture
def owners(folder: Path, made: dict[str, str]) -> str:
    """The page of the policy, with the private table."""
    return page_of(folder, made, "policy.toml")


@pytest.fixture
def public(folder: Path, made: dict[str, str]) -> str:
    """The page of the release alone."""
    return page_of(folder, made, "labels.duckdb")


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Pages, each made once."""
    return {}


def page_of(folder: Path, made: dict[str, str], target: str) -> str:
    if target not in made:
        sqlpriv.report(folder / target, folder / f"{target}.html")
        made[target] = (folder / f"{target}.html").read_text(encoding="utf-8")
    return made[target]


def headings(page: str, level: int = 2) -> list[str]:
    return [html.unescape(text) for text in re.findall(rf"<h{level}[^>]*>(.*?)</h{level}>", written(page))]


def test_what_is_read_first_stands_first(owners: str, public: str) -> None:
    front = ["What readers see", "What attackers learn", "What is not covered", "Parameters", "Appendix: details"]
    assert headings(public) == headings(owners) == front
    assert headings(public, 1) == headings(owners, 1) == ["May people go out?"]
    last = [
        "What is promised, and how it was verified",
        "Who is covered, and who is not",
        "What else was checked in the file",
        "Versions and digests",
        "Check it again in any DuckDB",
    ]
    assert headings(public, 3) == ["What each attack found", *last]
    between = ["What was asked", "What was found in the private table", "What was done", "The choice among others"]
    assert headings(owners, 3) == ["What each attack found", *between, *last]


def test_the_first_screen_answers_and_has_four_figures_and_a_place_to_sign(owners: str, public: str) -> None:
    for page in (owners, public):
        first = written(page).partition("<main>")[0]
        assert '<p class="verdict holds" role="status">It may go out: yes, against a neighbour who knows' in first
        names = re.findall(r"<dt>(.*?)</dt>", first)
        assert names == ["People in it", "People at risk", "What a neighbour can learn", "Typical answers are off by"]
        assert "<label>Signature" in first
    assert '<span class="was">' in owners.partition("<main>")[0]
    # What the private table shows is not on the page of the release.
    assert '<span class="was">' not in public
    assert "who has the private table" in owners
    assert "who has the private table" not in public


def test_what_is_promised_stands_once_with_how_it_was_verified(owners: str) -> None:
    promised = html.unescape(owners).partition('<section id="promises"')[2].partition("</section>")[0]
    assert promised.count("k>=3") == 1
    assert "verified from the file" in promised


def test_only_cells_of_many_rows_are_examples(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlpriv.reports.columns.FREQUENT", 20)
    text = (folder / "policy.toml").read_text(encoding="utf-8").replace("k = 3", "k = 2")
    rows = (folder / "people.csv").read_text(encoding="utf-8") + "59,77777,rare-illness\n59,77777,flu\n"
    (tmp_path / "people.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    sqlpriv.publish(tmp_path / "policy.toml", tmp_path / "labels.duckdb", ledger_file=tmp_path / "ledger.db")
    for target in ("labels.duckdb", "policy.toml"):
        sqlpriv.report(tmp_path / target, tmp_path / "page.html")
        page = written((tmp_path / "page.html").read_text(encoding="utf-8"))
        seen = page.partition('<section id="readers"')[2].partition("</section>")[0]
        assert "flu" in seen
        assert "rare-illness" not in page
        assert "77777" not in page


def test_what_is_gone_is_said_to_be_gone(folder: Path, tmp_path: Path) -> None:
    text = (folder / "policy.toml").read_text(encoding="utf-8").replace("k = 3", "k = 400")
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    sqlpriv.publish(tmp_path / "policy.toml", tmp_path / "labels.duckdb", ledger_file=tmp_path / "ledger.db")
    sqlpriv.report(tmp_path / "labels.duckdb", tmp_path / "page.html")
    assert "gone: every row shows *" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_is_accepted_stands_before_everything(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    accepted = BY_METHOD["slicing"].replace("made-up people", "nobody <b>lives</b>")
    (tmp_path / "policy.toml").write_text(accepted, encoding="utf-8")
    done = sqlpriv.publish(tmp_path / "policy.toml", tmp_path / "out.duckdb", ledger_file=tmp_path / "ledger.db")
    assert done.content["verdict"]["word"] == "no"
    facts = sqlpriv.report(tmp_path / "out.duckdb", tmp_path / "page.html")
    assert facts.passed
    assert facts.content["verdict"]["word"] == "no"
    assert facts.content["accept"] == "nobody <b>lives</b>"
    header = (tmp_path / "page.html").read_text(encoding="utf-8").partition("<header>")[2]
    assert header.index("nobody &lt;b&gt;lives") < header.index("<h1>")
    assert '<p class="verdict fails"' in header


def test_who_may_read_it_is_said(owners: str, public: str) -> None:
    assert "For the owner: this page reveals something of the private table" in owners
    assert "it reveals nothing that the release does not" in public


def written(page: str) -> str:
    """What people read, without the code that draws."""
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


def test_no_value_of_anybody(owners: str, public: str) -> None:
    for value in VALUES:
        assert value not in written(owners)
        assert value not in written(public)


def test_values_only_where_asked_for(folder: Path, tmp_path: Path) -> None:
    sqlpriv.report(folder / "policy.toml", tmp_path / "all.html", show_values=True)
    assert "40219" in written((tmp_path / "all.html").read_text(encoding="utf-8"))


def test_names_are_escaped(owners: str) -> None:
    assert "zip.code <b>" not in owners
    assert "zip.code &lt;b&gt;" in owners


def test_no_address_is_asked(owners: str) -> None:
    assert "default-src 'none'" in owners
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", written(owners))


def test_the_sql_on_the_page_checks_the_release(folder: Path, public: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    sql = html.unescape(re.findall(r"<code>(.*?)</code>", public, re.DOTALL)[0])
    _, digest, k, distinct = answers_of(sql)
    assert digest[0][0] in public
    assert k[0][0] >= 3
    assert distinct[0][0] >= 2


def test_the_sql_of_coins(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlpriv.report(folder / "noise.duckdb", tmp_path / "noise.html")
    page = (tmp_path / "noise.html").read_text(encoding="utf-8")
    sql = html.unescape(re.findall(r"<code>(.*?)</code>", page, re.DOTALL)[0])
    assert "frapp_guarantee" in sql
    monkeypatch.chdir(folder)
    *_, guaranteed = answers_of(sql)
    assert guaranteed[0][0] is True


@pytest.mark.parametrize("method", BY_METHOD)
def test_the_page_of_every_method(folder: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(BY_METHOD[method], encoding="utf-8")
    release, policy = Path("release.duckdb"), publishing.read_policy("policy.toml")
    done = publishing.publish(
        policy, release, ledger_file=tmp_path / "ledger.db", force=True, look=found_while_publishing
    )
    short = written(render(report_published(policy, release, done.facts, done.found)))
    assert "Smallest classes by age, zip.code &lt;b&gt;" in short
    assert not [value for value in VALUES if value in short]
    assert sqlpriv.report("release.duckdb", "page.html").passed
    page = written((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "states no guarantee" not in page
    sql = html.unescape(re.findall(r"<code>(.*?)</code>", page, re.DOTALL)[0])
    answers = answers_of(sql)
    expected = {"mondrian": [3], "hilbert": [3], "anatomy": [3, 3, 3], "slicing": [10, 10], "disclose": []}
    if method == "sdgs":
        assert answers[-1] == [(4.0, 0.002)]
    else:
        assert [row[0][0] >= least for row, least in zip(answers[2:], expected[method], strict=False)] == [
            True for _ in expected[method]
        ]


def answers_of(sql: str) -> list[list[tuple[object, ...]]]:
    """What each statement of a page answers, in a connection that has no macros."""
    with duckdb.connect() as con:
        return [con.execute(statement).fetchall() for statement in con.extract_statements(sql)]


@needs_command_line
@pytest.mark.parametrize("name", ["labels", "noise", "anatomy", "sdgs", "alpha_beta"])
def test_the_page_is_checked_again_without_any_macro(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A macro that travels with a file can be forged: the page prints what macros run, for any client."""
    release = folder / f"{name}.duckdb"
    if name not in {"labels", "noise"}:
        (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
        text = (
            NOISE.replace('"frapp"', '"alpha_beta"\nduplicates = "distinct"')
            if name == "alpha_beta"
            else BY_METHOD[name]
        )
        (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
        release = tmp_path / "release.duckdb"
        sqlpriv.publish(tmp_path / "policy.toml", release, ledger_file=tmp_path / "ledger.db", force=True)
    sqlpriv.report(release, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    sql = html.unescape(re.findall(r"<code>(.*?)</code>", page, re.DOTALL)[0])
    assert "priv." not in re.sub(r"^--.*", "", sql, flags=re.MULTILINE)
    monkeypatch.chdir(release.parent)
    _, *answers = answers_of(sql)
    assert len(answers) >= 2
    assert all(answers)
    done = subprocess.run(
        [str(command_line()), "-csv", "-noheader"], input=sql, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = list(csv.reader(done.stdout.splitlines()))
    for here, there in zip([row for answer in answers for row in answer], found, strict=True):
        assert [as_read(value) for value in here] == pytest.approx([as_read(text) for text in there])


def as_read(value: object) -> object:
    """A number where it is one: clients write numbers with more digits or fewer."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {"true": 1.0, "false": 0.0}.get(str(value), str(value))


def test_k_alone_protects_no_value(folder: Path, tmp_path: Path) -> None:
    """The attacker a steward thinks of first knows a neighbour and wants the diagnosis."""
    text = (folder / "policy.toml").read_text(encoding="utf-8").replace("distinct_l = { ill = 2 }\n", "")
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    sqlpriv.publish(tmp_path / "policy.toml", ledger_file=tmp_path / "ledger.db")
    pages = []
    for release in (tmp_path / "labels.duckdb", folder / "labels.duckdb"):
        sqlpriv.report(release, tmp_path / "page.html")
        pages.append(html.unescape((tmp_path / "page.html").read_text(encoding="utf-8")))
    assert "wants ill: not covered. No requirement speaks of 'ill'" in pages[0]
    assert "NO: no requirement speaks of 'ill'" in pages[0]
    assert "no requirement speaks of" not in pages[1]


def test_a_page_that_cannot_be_written_does_not_undo_a_release(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("people.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "labels-report.html").mkdir()
    monkeypatch.setenv("SQLPRIV_REPORT", "yes")
    done = run(tmp_path, "publish", "policy.toml")
    assert done.returncode == 0, done.stderr
    assert "no page to sign was written" in done.stdout
    assert (tmp_path / "labels.duckdb").exists()


def test_what_cannot_be_told_of_a_table_does_not_undo_a_release(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("there is no telling")

    for name in ("people.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setattr("sqlpriv.reports.sections.check", refuse)
    policy = publishing.read_policy(tmp_path / "policy.toml")
    done = publishing.publish(policy, look=found_while_publishing)
    page = written(render(report_published(policy, done.written.output, done.facts, done.found)))
    assert "there is no telling" in page
    assert done.written.output.exists()


def test_kept_rows_are_not_said_to_be_left_out(folder: Path, tmp_path: Path) -> None:
    text = (folder / "policy.toml").read_text(encoding="utf-8").replace("k = 3", "k = 100")
    text = text.replace('output = "labels.duckdb"', "suppression = 0.9\nkeep_suppressed = true")
    rows = (folder / "people.csv").read_text(encoding="utf-8") + "59,99999,flu\n" * 2
    (tmp_path / "people.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    made = sqlpriv.publish(tmp_path / "policy.toml", tmp_path / "kept.duckdb", ledger_file=tmp_path / "ledger.db")
    sqlpriv.report(tmp_path / "kept.duckdb", tmp_path / "page.html")
    page = written((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert ("as one class under *" in page) == made.content["kept_suppressed"]
    assert ("their rows are not in the file" in page) == (
        made.content["suppressed_rows"] > 0 and not made.content["kept_suppressed"]
    )


@pytest.mark.parametrize("target", ["people.csv", "policy.toml", "labels.duckdb", "page"])
def test_nothing_else_is_written_over(folder: Path, target: str) -> None:
    before = (folder / target).read_bytes() if target != "page" else None
    with pytest.raises(InputError, match=r"a report is written as \.html"):
        sqlpriv.report(folder / "labels.duckdb", folder / target)
    assert (folder / target).read_bytes() == before if before else not (folder / target).exists()


def test_a_name_cannot_leave_its_comment() -> None:
    required = {"requirement": "k>=5\n; SELECT 1; --", "measure": "k", "arguments": "{}", "sensitive": None}
    columns = [{"name": "a", "role": "quasi-identifier"}]
    sql = recheck_sql(METHODS["generalize"], "r.duckdb", {"table": "t", "columns": columns, "requirements": [required]})
    with duckdb.connect() as con:
        statements = [s.query.strip() for s in con.extract_statements(sql)]
    assert len(statements) == 3
    assert not [line for line in sql.splitlines() if line.startswith((";", "SELECT 1"))]


def test_values_are_judged_again_among_the_rows_that_an_attacker_looks_at() -> None:
    """Who knows the sex looks at the rows of that sex in a bucket: the page counts there, as verify does."""
    sides = {"age": 1, "sex": 2, "ill": 2}
    roles = {"age": "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive"}
    required = {"requirement": "distinct_l(ill)>=2", "measure": "distinct_l", "arguments": "{}", "sensitive": "ill"}
    columns = [{"name": name, "role": roles[name], "side": side} for name, side in sides.items()]
    sql = recheck_sql(METHODS["slicing"], "r.duckdb", {"table": "t", "columns": columns, "requirements": [required]})
    called = next(line for line in sql.splitlines() if line.startswith("-- distinct_l(ill)>=2"))
    assert "side_2" in called
    assert "['__bucket', 'sex']" in called


@pytest.mark.parametrize("missing", ["k", "beta", "epsilon", "delta"])
def test_a_number_that_a_file_lacks_leaves_its_query_out(missing: str) -> None:
    numbers = {name: 0.25 for name in ("k", "beta", "epsilon", "delta") if name != missing}
    content = {"table": "t", "columns": [], "parameters": numbers, "groups": [["age"], ["ill"]]}
    sql = recheck_sql(METHODS["sdgs"], "r.duckdb", content)
    assert ("group_2" in sql) == (missing != "k")
    assert ("sdgs_delta" in sql) == (missing == "delta")
    assert ("sdgs_groups" in sql) == (missing in ("k", "beta"))


def test_a_tampered_release_fails_on_top(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.duckdb").write_bytes((folder / "labels.duckdb").read_bytes())
    with duckdb.connect(str(tmp_path / "labels.duckdb")) as con:
        con.execute("DELETE FROM sqlpriv_release.published WHERE rowid < 2").fetchall()
    facts = sqlpriv.report(tmp_path / "labels.duckdb", tmp_path / "page.html")
    assert not facts.passed
    assert '<p class="verdict fails"' in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "changed",
    [
        "UPDATE sqlpriv_release.requirements SET arguments = '<b>'",
        "UPDATE sqlpriv_release.requirements SET arguments = '[1]'",
        "UPDATE sqlpriv_release.attributes SET position = NULL",
    ],
)
def test_what_makes_no_sense_in_a_file_is_refused_in_a_sentence(folder: Path, tmp_path: Path, changed: str) -> None:
    (tmp_path / "labels.duckdb").write_bytes((folder / "labels.duckdb").read_bytes())
    with duckdb.connect(str(tmp_path / "labels.duckdb")) as con:
        con.execute(changed).fetchall()
    with pytest.raises(ReleaseError, match=r"labels\.duckdb is no release, or was changed"):
        sqlpriv.report(tmp_path / "labels.duckdb", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_policy_that_cannot_be_met(folder: Path, tmp_path: Path) -> None:
    text = (folder / "policy.toml").read_text(encoding="utf-8").replace("k = 3", "k = 100000")
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    facts = sqlpriv.report(tmp_path / "policy.toml", tmp_path / "page.html")
    assert not facts.passed
    assert "It may not go out under this policy" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_two_releases_side_by_side(folder: Path, tmp_path: Path) -> None:
    done = run(
        folder, "report", "labels.duckdb", "--compare", "noise.duckdb", "-o", str(tmp_path / "two.html"), "--json"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["passed"] is True
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert headings(text)[0] == "Side by side"
    assert "generalize" in text
    assert "frapp" in text


def test_charts_as_pictures(folder: Path, tmp_path: Path) -> None:
    facts = sqlpriv.report(folder / "policy.toml", tmp_path / "page.html", charts=tmp_path / "charts")
    drawn = facts.content["charts"]
    assert drawn == ["attacks-1.png", "choice-1.png", "choice-2.png", "choice-3.png"]
    assert all((tmp_path / "charts" / name).read_bytes().startswith(b"\x89PNG") for name in drawn)


def test_after_every_publish(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("people.csv", "policy.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.setenv("SQLPRIV_REPORT", "yes")
    (tmp_path / "out").mkdir()
    told = run(tmp_path, "publish", "policy.toml", "--output", "out/labels.duckdb", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["report"] == "labels-report.html"
    page = (tmp_path / "labels-report.html").read_text(encoding="utf-8")
    first = ["What was asked", "What was found in the private table", "What was done", "What is not on this page"]
    assert headings(page, 3)[:4] == first
    assert not [value for value in VALUES if value in page]
    # It is the owner's: it stands beside the policy, and not where the release goes.
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["labels.duckdb"]
    (tmp_path / "labels-report.html").unlink()
    assert run(tmp_path, "publish", "policy.toml", "--output", "out/labels.duckdb", "--no-report").returncode == 0
    assert not (tmp_path / "labels-report.html").exists()


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="compared by their files alone"):
        sqlpriv.report(folder / "labels.duckdb", tmp_path / "x.html", compare=folder / "noise.duckdb", policy="p.toml")
    with pytest.raises(InputError, match="give the policy of the release, too"):
        sqlpriv.report(folder / "labels.duckdb", tmp_path / "x.html", show_values=True)
    with pytest.raises(InputError, match="is a policy already"):
        sqlpriv.report(folder / "policy.toml", tmp_path / "x.html", policy=folder / "policy.toml")
    with pytest.raises(InputError, match=r"cannot write the report 'x\.html'"):
        sqlpriv.report(folder / "labels.duckdb", tmp_path / "none" / "x.html")
    done = run(folder, "report", "none.duckdb")
    assert done.returncode == 2
    assert "none.duckdb" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_rows_of_a_release_about_persons_are_not_called_people(tmp_path: Path) -> None:
    """The file has rows alone: 24 rows are of 12 people, whom only the page with the private table counts."""
    rows = "SELECT i // 2 AS id, i // 12 AS zip, i % 3 AS ill FROM range(24) AS r(i)"
    columns = {"id": role("person"), "zip": qi(), "ill": role("sensitive")}
    policy = write_policy(tmp_path, policy_text(columns, "k = 3"), f"CREATE TABLE people AS {rows}")
    sqlpriv.publish(policy)
    sqlpriv.report(tmp_path / "people-release.duckdb", tmp_path / "alone.html")
    sqlpriv.report(policy, tmp_path / "both.html")
    alone, both = ((tmp_path / name).read_text(encoding="utf-8") for name in ("alone.html", "both.html"))
    assert "Rows in it" in alone
    assert "everybody in people" in alone
    assert "the 24 people" not in alone
    assert "the 12 people in people" in both
