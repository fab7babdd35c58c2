"""Conditions in SQL's three-valued logic, taken apart into two-valued formulas.

A Condition says which outcome of an SQL expression is wanted: that it is true, false, not true or not false. Each is
a plain yes or no also where the expression is NULL. So a condition can be split at AND, OR and NOT (and what is short
for them: BETWEEN, IN, CASE, IS) and put together again without a NULL getting lost or counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

# The outcomes that can be wanted of an expression. The last two are the complements of the first two.
TRUE, FALSE, NOT_TRUE, NOT_FALSE = "true", "false", "not true", "not false"

_OPPOSITE = {TRUE: FALSE, FALSE: TRUE, NOT_TRUE: NOT_FALSE, NOT_FALSE: NOT_TRUE}
_COMPLEMENT = {TRUE: NOT_TRUE, NOT_TRUE: TRUE, FALSE: NOT_FALSE, NOT_FALSE: FALSE}
_WRITTEN = {TRUE: "({})", FALSE: "(NOT ({}))", NOT_TRUE: "(({}) IS NOT TRUE)", NOT_FALSE: "(({}) IS NOT FALSE)"}
_BOOLEAN = (exp.Connector, exp.Not, exp.Predicate, exp.Boolean, exp.Null)
_CONNECTIVES = (exp.Connector, exp.Not)
_NEVER_FAILS = (exp.Connector, exp.Case, exp.If, exp.Coalesce, exp.TryCast)


@dataclass(frozen=True)
class Condition:
    """An expression, and the outcome that is wanted of it."""

    expression: exp.Expr
    outcome: str


@dataclass(frozen=True)
class Gate:
    """All of the inputs (`and`), or at least one (`or`)."""

    operator: str
    inputs: tuple[Formula, ...]


Formula = Condition | Gate


def written(condition: Condition, sql: str) -> str:
    """SQL that is true exactly where the outcome is the wanted one; `sql` is the expression's text."""
    if not isinstance(condition.expression, _BOOLEAN):
        sql = f"CAST({sql} AS BOOLEAN)"
    return _WRITTEN[condition.outcome].format(sql)


def flat(formula: Formula, operator: str) -> list[Formula]:
    """The inputs of nested gates of one kind; looks into expressions at AND, OR and NOT only."""
    found: list[Formula] = []
    stack = [formula]
    while stack:
        each = stack.pop()
        gate = at_connectives(each) if isinstance(each, Condition) else each
        if isinstance(gate, Gate) and gate.operator == operator:
            stack.extend(reversed(gate.inputs))
        else:
            found.append(each)
    return found


def at_connectives(condition: Condition) -> Formula:
    """A condition split at its outermost AND or OR, behind any NOT and parentheses."""
    expression, outcome = condition.expression, condition.outcome
    while True:
        if isinstance(expression, exp.Paren):
            expression = expression.this
        elif isinstance(expression, exp.Not):
            expression, outcome = expression.this, _OPPOSITE[outcome]
        else:
            break
    if isinstance(expression, exp.And | exp.Or):
        conjunction = isinstance(expression, exp.And) == (outcome in (TRUE, NOT_FALSE))
        sides = (Condition(expression.this, outcome), Condition(expression.expression, outcome))
        return Gate("and" if conjunction else "or", sides)
    return Condition(expression, outcome)


def apart(condition: Condition) -> Gate | None:
    """As `at_connectives`, and split also at what is short for AND and OR; None where there is nothing to split."""
    found = at_connectives(condition)
    if isinstance(found, Gate):
        return found
    expression, outcome = found.expression, found.outcome
    yes = outcome in (TRUE, NOT_FALSE)
    if isinstance(expression, exp.Between):
        tested = expression.this
        low = exp.GTE(this=tested.copy(), expression=expression.args["low"].copy())
        high = exp.LTE(this=tested.copy(), expression=expression.args["high"].copy())
        return Gate("and" if yes else "or", (Condition(low, outcome), Condition(high, outcome)))
    if isinstance(expression, exp.In) and len(expression.expressions) > 1:
        listed = [exp.EQ(this=expression.this.copy(), expression=each.copy()) for each in expression.expressions]
        return Gate("or" if yes else "and", tuple(Condition(each, outcome) for each in listed))
    if isinstance(expression, exp.Is) and isinstance(expression.this.unnest(), _CONNECTIVES):
        return _tested(expression, yes)
    if isinstance(expression, exp.Case) and guards_nothing(expression):
        return _branches(expression, outcome)
    return None


def _tested(test: exp.Is, yes: bool) -> Gate | None:
    """`x IS TRUE`, `x IS FALSE` and `x IS NULL`, which are never NULL themselves, for a condition x."""
    if isinstance(test.expression, exp.Boolean):
        meant = TRUE if test.expression.this else FALSE
        return apart(Condition(test.this, meant if yes else _COMPLEMENT[meant]))
    if not isinstance(test.expression, exp.Null):
        return None
    if yes:
        return Gate("and", (Condition(test.this, NOT_TRUE), Condition(test.this, NOT_FALSE)))
    return Gate("or", (Condition(test.this, TRUE), Condition(test.this, FALSE)))


def _branches(case: exp.Case, outcome: str) -> Gate:
    """CASE takes exactly one branch, so the outcome is that one's."""
    return Gate("or", tuple(Gate("and", (*taken, Condition(result, outcome))) for taken, result in case_branches(case)))


def guards_nothing(case: exp.Case) -> bool:
    """Whether no branch can fail. A branch that can (a cast, say) must not be evaluated unless it is taken."""
    functions = case.find_all(exp.Func, exp.Div, exp.Query)
    return all(isinstance(each, _NEVER_FAILS) for each in functions)


def case_branches(case: exp.Case) -> list[tuple[tuple[Condition, ...], exp.Expr]]:
    """When each branch is taken, and its result; without ELSE the last one is NULL."""
    branches: list[tuple[tuple[Condition, ...], exp.Expr]] = []
    passed: tuple[Condition, ...] = ()
    for branch in case.args["ifs"]:
        test = exp.EQ(this=case.this.copy(), expression=branch.this.copy()) if case.this else branch.this
        branches.append(((*passed, Condition(test, TRUE)), branch.args["true"]))
        passed += (Condition(test, NOT_TRUE),)
    return [*branches, (passed, case.args.get("default") or exp.Null())]
