"""A formula that a guarantee, a weight or a cost needs stands in sql/ alone: what Python still computes is listed here.

Arithmetic counts when one side of it, as it stands or inside float(...), a minus or an `or`, is called like a
parameter of the macros; a call of `math` counts when it is no question; and so does a piece of SQL in Python that
does arithmetic with a parameter. Only the outermost expression is listed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from support import places

from sqlpriv.macros.catalog import macros

pytestmark = pytest.mark.one_version

ROOT = places.ROOT / "sqlpriv"
FOLDERS = ("methods", "policy", "release", "checks")
# What the macros call their numbers, and what Python calls the same. n and m stand for too much else.
OTHERS = {"n_public", "keep", "elements", "largest", "mean", "draws", "stubbornness"}
PLAIN = {"tbl", "qis", "key", "l", "a", "b", "c", "n", "attribute", "levels", "length", "condition", "node",
         "hierarchies", "known", "other", "total", "weights"}  # fmt: skip
PARAMETERS = {p for m in macros().values() for p in m.overloads[-1].params} - PLAIN | OTHERS
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
QUESTIONS = {"isinf", "isnan", "isfinite", "isclose"}

ALLOWED = {
    # How many queries, and which part of the domain: nothing that is published depends on it.
    "methods/randomized/draws.py: math.ceil(mean / _DRAWS)": "how many ranges to draw in",
    "methods/randomized/draws.py: f'{mean!r} * ({high - low} / {top})'": "the part of the draws in one range",
    # Questions about what is given, answered before any formula is asked.
    "methods/disclose/policy.py: math.fsum(known) - 1": "do priors add up to 1: the sentence names the policy's line",
    "methods/labelled/beliefs.py: sigma * smallest": "is some sigma(s) below 1: the sentence names the policy's line",
    "methods/generalize/stubbornness.py: sigma * share": "which points a curve has",
    "methods/labelled/evaluate.py: Fraction(str(scan.policy.suppression)) * scan.rows": "a share as written",
    "methods/hilbert/grouping.py: math.ceil(threshold)": "how many rows a class has at least, before it is judged",
    # Sizes of what is declared, which may be beyond any machine number.
    "methods/randomized/calibration.py: math.prod(sizes)": "the size of a domain, in whole numbers",
    "methods/randomized/calibration.py: self.tuples * self.slots": "the size of a domain, in whole numbers",
    "methods/randomized/calibration.py: 1 / share": "a share in whole numbers, before it becomes a double",
    "methods/alpha_beta/calibrate.py: bound.tuples * slots": "the size of a domain, in whole numbers",
    "methods/alpha_beta/calibrate.py: bound.share / slots": "a share in whole numbers, before it becomes a double",
    "methods/alpha_beta/calibrate.py: bound.least_share / slots": "a share in whole numbers, before it becomes a double",
    "methods/randomized/plan.py: math.prod((min(a.shares) for a in aliases), start=Fraction(1))":
        "a share in whole numbers, before it becomes a double",
    "methods/randomized/plan.py: math.prod((c.size for c in columns))": "the size of a domain, in whole numbers",
    "methods/randomized/attackers.py: background.tuples // len(shares)": "the size of a domain, in whole numbers",
    "methods/randomized/verify_policy.py: math.fsum(given[0])": "the shares of a policy need not add up to 1",
    "methods/alpha_beta/calibrate.py: 1 / elements": "the share of an element, if all have the same",
    "methods/alpha_beta/verify.py: _largest_share(file) / slots": "the share of an element, by those of the file",
    "methods/randomized/plan.py: math.prod((max(a.shares) for a in aliases), start=Fraction(1))":
        "a share in whole numbers, before it becomes a double",
    # All slots of a tuple count together, each with the weight that the macro gives.
    "methods/alpha_beta/mechanism.py: domain.weight * slots": "so many elements of one weight",
    "methods/alpha_beta/mechanism.py: domain.variance * slots": "so many elements of one weight",
    "methods/alpha_beta/mechanism.py: domain.skew * slots": "so many elements of one weight",
    # What a file is compared with, from outside and with room to spare.
    "methods/method.py: self.rows - self.expected": "how far a number of rows is off",
    "methods/method.py: 6 * math.sqrt(self.variance)": "six deviations of a number of rows",
    "methods/alpha_beta/verify.py: noise - 6 * math.sqrt(noise) - 0.5": "six deviations of a number of rows",
    "methods/alpha_beta/verify.py: kept + 6 * math.sqrt(kept) + 0.5": "six deviations of a number of rows",
    "methods/alpha_beta/verify.py: row['weight'] * math.prod(map(float, sums))": "a sum of products",
    "methods/alpha_beta/write.py: w.weight * sums": "a sum of products",
    "methods/alpha_beta/write.py: total * mechanism.alpha": "a sum of products",
    "methods/frapp/method.py: stay + (numbers['elements'] - 1) * move": "probabilities add up to 1",
    "methods/generalize/verify.py: policy.suppression * rows + 1e-09 * rows": "rows that may be left out",
    "methods/noisy_counts/verify.py: mean - 9 * math.sqrt(variance) - 0.5": "deviations of a number of rows",
    "methods/noisy_counts/write.py: 9 * math.sqrt(variance) + 80 * math.log(2) / -math.log(ratio) + 0.5":
        "how far a sum of noise never comes",
    # What people read, and what is counted.
    "methods/anatomy/policy.py: math.ceil(r.threshold)": "so many values, when more than a fraction is asked for",
    "methods/bucketed/arrange.py: rows - persons": "a number in a sentence",
    "methods/generalize/plan.py: rows - suppressed": "rows that are left",
    "methods/labelled/box_plan.py: rows / boxed.classes": "a mean in a sentence",
    "methods/mondrian/rounds.py: math.log2(scan.rows)": "how many rounds there may be",
    "methods/generalize/asked.py: scan.rows - suppressed": "rows that are left",
    "methods/generalize/plan.py: suppressed / rows": "a share in a sentence",
    "methods/generalize/compare.py: scan.rows - (0 if plan.stars else outcome.suppressed)": "rows that are left",
    'methods/labelled/read_classes.py: f"(SELECT {rows} + {self.gone or 0} FROM {self.published})"': "all rows",
    "methods/generalize/write.py: scan.rows - (0 if stars else best.outcome.suppressed)": "rows that are left",
    "methods/alpha_beta/wording.py: given.prior / given.gamma": "a number in a sentence",
    'methods/randomized/calibration.py: policy.gamma / calls.row("prior_of_multiple", 1, n_public, float(1 / share))[0]':
        "a number in a sentence",
    "methods/randomized/attackers.py: gamma * (1 + _HAIR)": "a bound, and room for the last digits",
    "methods/randomized/plan.py: t.half_domain_error / t.n_public": "the height of a point in a picture",
    "checks/run.py: f' / {verdict.sensitive}'": "a slash between two names",
    "policy/propose.py: c.rows - c.present": "how many cells are NULL",
    "policy/propose_domains.py: math.floor(c.low / width) * width": "a range that people like",
    "policy/propose_domains.py: math.ceil(c.high / width) * width": "a range that people like",
    "policy/propose_domains.py: found.choices + (c.present < c.rows)": "NULL is a value more",
    "policy/propose_domains.py: tuples * p.choices": "the size of a domain, in whole numbers",
    "policy/propose_domains.py: tuples / rows_each ** 2": "how many columns are proposed",
    "methods/randomized/method.py: 10 * rows": "how many columns are proposed",
    "methods/frapp/method.py: math.isqrt(rows)": "how many columns are proposed",
    "policy/propose.py: 10 ** math.floor(math.log10(max(width, 1)))": "a width that people like",
}  # fmt: skip


# ast.unparse chooses its quotes by the version of Python.
ALLOWED = {place.replace("'", '"'): reason for place, reason in ALLOWED.items()}


def is_parameter(node: ast.AST) -> bool:
    if isinstance(node, (ast.Name, ast.Attribute)):
        return (node.id if isinstance(node, ast.Name) else node.attr) in PARAMETERS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"float", "int", "Fraction", "abs"} and any(map(is_parameter, node.args))
    if isinstance(node, ast.BoolOp):
        return any(map(is_parameter, node.values))
    return isinstance(node, ast.UnaryOp) and is_parameter(node.operand)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def computes(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
        sides = (node.left, node.right)
        return any(is_parameter(s) or computes(s) for s in sides) and not any(map(is_text, sides))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        module = node.func.value
        return isinstance(module, ast.Name) and module.id == "math" and node.func.attr not in QUESTIONS
    if isinstance(node, ast.JoinedStr):
        return computes_in_sql(node)
    return False


def computes_in_sql(node: ast.JoinedStr) -> bool:
    """A parameter in a text, with an operator beside it: no sign of a word, such as a dash between two words."""
    for place, part in enumerate(node.values):
        if isinstance(part, ast.FormattedValue) and part.format_spec is None and is_parameter(part.value):
            before = str(getattr(node.values[place - 1], "value", "")) if place else ""
            after = str(getattr(node.values[place + 1], "value", "")) if place + 1 < len(node.values) else ""
            if re.search(r"[-+*/] ?$", before) or re.match(r" [-+*/] ", after):
                return True
    return False


def found_in(node: ast.AST) -> Iterator[str]:
    """The outermost expressions that compute."""
    if computes(node):
        yield ast.unparse(node)
        return
    for child in ast.iter_child_nodes(node):
        yield from found_in(child)


def computed() -> set[str]:
    return {
        f"{file.relative_to(ROOT).as_posix()}: {expression}".replace("'", '"')
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        for expression in found_in(ast.parse(file.read_text(encoding="utf-8")))
    }


def test_what_python_computes_is_listed_with_its_reason() -> None:
    assert not computed() - set(ALLOWED), "write a macro in sql/, with its oracle, and call it"


def test_what_is_listed_is_there() -> None:
    assert not set(ALLOWED) - computed(), "take it from the list"


def test_the_list_sees_formulas_as_they_are_written() -> None:
    for text in ("x = 1 - alpha", "y = -d / slots", "z = math.exp(x)", "f'1 - {alpha!r}'", "w = (coins.rate or 0) * s"):
        assert list(found_in(ast.parse(text))), text
    for text in ("x = 1 - y", "math.isinf(sigma)", "f'a prior of {d:.4g}, gamma {gamma:g}'", "'alpha' + name"):
        assert not list(found_in(ast.parse(text))), text
