"""The rooms of the house: each imports only from rooms above it in design order, and there is no cycle.

Imports inside functions and under TYPE_CHECKING count like all others: what is loaded later is still needed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_version

ROOT = Path(__file__).resolve().parents[1] / "sqlpriv"
ROOMS = (
    ("version",),
    ("core",),
    ("sql", "udfs"),
    ("macros",),
    ("rewrite",),
    ("table",),
    ("checks",),
    ("policy",),
    ("release",),
    ("risk",),
    ("methods",),
    ("publishing",),
    ("comparison",),
    ("attacks",),
    ("display",),
    ("reports",),
    ("apps",),
    ("dbt",),
    ("demo",),
    ("__init__", "__main__"),
)
FAMILIES = ("generalized", "noisy", "split")
FLOOR = {name: number for number, names in enumerate(ROOMS) for name in names}


def modules() -> dict[str, Path]:
    """All modules by their names below sqlpriv; sql/ and udfs/ become packages of it."""
    beside = {name: ROOT.parent / name / "__init__.py" for name in ("sql", "udfs")}
    found = {**beside, **{f"udfs.{p.stem}": p for p in (ROOT.parent / "udfs").glob("[!_]*.py")}}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = path
    return found


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """The modules of sqlpriv that a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "sqlpriv":
                yield nearest(name.removeprefix("sqlpriv").removeprefix("."))


def nearest(name: str) -> str:
    """The module that an imported name is, or is in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or "__init__"


def room(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


IMPORTS = {name: sorted(set(imported(path))) for name, path in MODULES.items()}


def test_every_module_is_in_a_room() -> None:
    assert len(MODULES) > 100
    assert {room(name) for name in MODULES} <= set(FLOOR)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_it_imports_only_from_rooms_above(name: str) -> None:
    own = FLOOR[room(name)]
    below = [other for other in IMPORTS[name] if FLOOR[room(other)] > own]
    beside = [other for other in IMPORTS[name] if FLOOR[room(other)] == own and room(other) != room(name)]
    assert (below, beside) == ([], []), name


def test_there_is_no_cycle() -> None:
    done: set[str] = set()
    path: list[str] = []

    def visit(name: str) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for other in IMPORTS[name]:
            # A package that gathers what is in it is no cycle for its own modules: they import from its siblings.
            if other != name and not name.startswith(f"{other}."):
                visit(other)
        path.pop()
        done.add(name)

    for name in sorted(MODULES):
        visit(name)


def method_of(module: str) -> str:
    """The folder of the one method that a module belongs to; empty for what several methods share."""
    parts = module.split(".")
    depth = 3 if parts[1:2] and parts[1] in FAMILIES else 2
    folder = "/".join(parts[:depth])
    return folder if parts[0] == "methods" and len(parts) >= depth and (ROOT / folder).is_dir() else ""


def test_no_method_imports_another() -> None:
    """A method is added by a folder: what two of them share stands in their family or above."""
    assert method_of("methods.noisy.frapp.write") == "methods/noisy/frapp"
    for name, others in IMPORTS.items():
        if name.startswith("methods."):
            assert [o for o in others if method_of(o) not in ("", method_of(name))] == [], name


def test_nobody_knows_the_inside_of_a_method() -> None:
    """What others need of a method is a question to Method or Plan, with a default, or stands in a room above."""
    folders = {path.name for path in (ROOT / "methods").iterdir() if path.is_dir()}
    found = {
        (name, other)
        for name, others in IMPORTS.items()
        for other in others
        if room(name) != "methods" and other.startswith("methods.") and other.split(".")[1] in folders
    }
    assert found == set()


def test_plans_and_methods_are_not_asked_what_they_are() -> None:
    """No isinstance of a plan, a policy or a method outside the folder of a method: the seam has a question for it."""
    asked = re.compile(r"isinstance\([^()]*\b\w+(Plan|Method|Policy)\b")
    for name, path in MODULES.items():
        parts = name.split(".")
        if parts[0] == "methods" and len(parts) > 2:
            continue
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if asked.search(line)]
        assert lines == [], name


def test_methods_are_not_asked_for_by_name() -> None:
    """No `if method == ...` outside a method's folder: the seam is what differs."""
    asked = re.compile(r"""method\W{0,3}\s*(==|!=|in)\s*[({\[]?\s*["']|["']\s*(==|!=)\s*\w*\.?method""")
    assert method_of("methods.noisy.plan") == ""
    for name, path in MODULES.items():
        if method_of(name):
            continue
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if asked.search(line)]
        assert lines == [], name


def test_the_test_sees_an_upward_import() -> None:
    """Or all of the above would prove nothing."""
    assert nearest("methods.method.Plan") == "methods.method"
    assert FLOOR["core"] < FLOOR["macros"] < FLOOR["methods"] < FLOOR["apps"]
    assert "core.engine" in IMPORTS["macros.install"]
