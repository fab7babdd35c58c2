"""DuckDB replaces every bare name in a macro that is also a parameter, so a helper may not use such a name itself."""

from collections.abc import Iterator

import pytest

from sqlpriv.macros.catalog import defined
from sqlpriv.macros.language import Overload, call_arguments, is_helper, tokenize

pytestmark = pytest.mark.one_version

MACROS = [definition.read() for found in defined().values() for definition in found]
HELPERS = {(m.name, len(o.params)): o for m in MACROS if is_helper(m.name) for o in m.overloads}


def bare_names(overload: Overload) -> set[str]:
    """Names that could be columns: not called, not qualified, not a new alias."""
    tokens = tokenize(overload.body)
    after = [t.text for t in tokens[1:]] + [""]
    before = ["", *(t.text.upper() for t in tokens)]
    return {
        t.text
        for t, left, right in zip(tokens, before, after, strict=False)
        if t.is_name and left not in {".", "AS"} and right != "("
    }


def called(overload: Overload) -> Iterator[tuple[str, int]]:
    tokens = tokenize(overload.body)
    for at, token in enumerate(tokens[:-1]):
        if token.is_name and is_helper(token.text) and tokens[at + 1].text == "(":
            yield token.text, len(call_arguments(overload.body, tokens, at + 1)[1])


def reached(overload: Overload) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    waiting = list(called(overload))
    while waiting:
        helper = waiting.pop()
        if helper not in found:
            found.add(helper)
            waiting += called(HELPERS[helper])
    return found


@pytest.mark.parametrize("macro", [m for m in MACROS if not is_helper(m.name)], ids=lambda m: str(m.name))
def test_no_helper_uses_a_parameter_of_the_macro_it_ends_up_in(macro: object) -> None:
    """`id` inside the reader of predicates was replaced by the name of the id column: no set ever matched."""
    for overload in macro.overloads:  # type: ignore[attr-defined]
        for helper in reached(overload):
            own = set(HELPERS[helper].params)
            captured = (bare_names(HELPERS[helper]) - own) & set(overload.params)
            assert not captured, (helper, captured)


def test_no_helper_is_defined_twice() -> None:
    """The second would silently take the place of the first, in every file."""
    defined = [(m.name, len(o.params)) for m in MACROS if is_helper(m.name) for o in m.overloads]
    assert sorted(defined) == sorted(set(defined))
