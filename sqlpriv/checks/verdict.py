"""May it go out? One verdict for every table and release, from a table of rules with their thresholds.

Measures, columns, methods and attacks contribute evidence: the name of a rule, a number, and what it is about. A rule
says when its number counts, which word it speaks for, and its sentence. The strongest word wins: `no` before `only if`
before `yes, against`. To have something else looked at, add a Rule here and contribute evidence for it.

    no            somebody's value can be read off, or an identifier is in it
    only if       it rests on assumptions, which are named
    yes, against  the attackers that are covered, each with a bound
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.facts import Line, Part, shown_number

NO, ONLY_IF, YES = "no", "only if", "yes, against"
_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Rule:
    """What speaks for a word: a sentence, and the number from which on it does; without a condition it always does.

    The sentence has {about}, {detail}, {value}, {share} (the value in per cent), {rows} and {threshold}. After `only
    if` it is a condition, after `yes, against` an attacker.
    """

    name: str
    word: str
    sentence: str
    condition: str = ""
    """A comparison, as >=, of the value with the threshold."""
    threshold: float = 0
    is_convention: bool = False
    """Whether the threshold is a convention that others may choose otherwise: it is printed with a star."""

    def holds(self, value: float) -> bool:
        """Whether evidence of this value counts."""
        return not self.condition or bool(_COMPARE[self.condition](value, self.threshold))


@dataclass(frozen=True)
class Evidence:
    """What was found: for which rule, how much, and of which columns or people."""

    rule: str
    value: float = 0
    about: str = ""
    detail: str = ""


_RULES = (
    # Somebody's value can be read off, or an identifier is in it.
    Rule("identifier", NO, "{share} of the values of {about} belong to one row alone ({threshold}* or more make an "
         "identifier): drop, coarsen or round it", ">=", 0.95, True),
    Rule("alone", NO, "{rows} can be found by {about}: no other row has the same values", ">", 0),
    Rule("history", NO, "{value} people can be found by the history that their pseudonym shows, all their values of "
         "{about}: fewer than {detail} have the same; publish fewer columns or coarser ones, or no pseudonym", ">", 0),
    Rule("certain", NO, "{about} of {rows} can be read off by a neighbour who knows {detail}", ">", 0),
    Rule("nothing_required", NO, "nothing is required of {about}, and this method alone promises nothing for it"),
    Rule("range_end", NO, "{value} ends of the ranges of {about} are read off the table: declare a domain", ">", 0),
    Rule("range_end_of_few", NO, "beyond {value} ends of the ranges of {about} there are fewer people than a class "
         "needs: declare a domain", ">", 0),
    Rule("learned", NO, "a reader who learns from the whole file guesses {about} of {value} people right, {detail}: "
         "publish fewer columns that go with it, make groups larger, or publish noisy counts"),
    Rule("occurring_values", NO, "the domain of {about} is read off the table: declare one that anybody may know"),
    Rule("infinite_loss", NO, "somebody's loss is infinite"),
    Rule("refused", NO, "{detail}"),
    # It rests on an assumption.
    Rule("nothing_sensitive", ONLY_IF, "no value of {about} is worth knowing: no column is declared sensitive"),
    Rule("unguarded", ONLY_IF, "it is acceptable that readers learn {about}: nothing is required of it"),
    Rule("likely", ONLY_IF, "it is acceptable that a neighbour who knows {detail} guesses {about} with a probability "
         "of {value} (more than {threshold}*)", ">", 0.5, True),
    Rule("others_unknown", ONLY_IF, 'no neighbour knows {about}, as the owner says: "{detail}"'),
    Rule("exact_values", ONLY_IF, "nobody knows somebody's exact {about}: {share} of its values belong to one row "
         "alone ({threshold}* or more find the row); round them", ">=", 0.95, True),
    Rule("repeated_identifier", ONLY_IF, "every row belongs to a different person: rows are protected, not people, and "
         "{rows} share {about} with another row; give it the role person, or drop if it names nobody", ">", 0),
    Rule("other_groups", ONLY_IF, "a reader learns nothing about one {about} of rows from the others"),
    Rule("uncovered", ONLY_IF, "nobody attacks who knows {about}: a belief of {detail} may become {value}"),
    Rule("rounded_size", ONLY_IF, "the number of rows may be known, rounded up: n_public is not declared"),
    Rule("delta", ONLY_IF, "a chance of {value} is acceptable that the guarantee fails for somebody (more than "
         "{threshold}*)", ">", 0.01, True),
    Rule("delta_of_each", ONLY_IF, "a chance of {value} for each {about} is acceptable that the guarantee fails: "
         "n_public, by which it is judged, is not declared", ">", 0),
    Rule("epsilon", ONLY_IF, "an epsilon of {value} is acceptable (more than {threshold}*)", ">", 3, True),
    Rule("levels_public", ONLY_IF, "the levels were chosen without looking at the table: node_is_public says why"),
    Rule("dictionary", ONLY_IF, "attackers hold {about} and no other list of people: it is public and complete"),
    Rule("unbounded", ONLY_IF, "nobody attacks it: no attacker is covered"),
    # An attacker with a bound.
    Rule("linking", YES, "a neighbour who knows {about}: finds {value} rows or more, and not which one", ">", 1),
    Rule("histories", YES, "a neighbour who knows all rows of somebody, with {about}: finds {value} people or more, "
         "and not which one", ">", 1),
    Rule("guess", YES, "a neighbour who knows {detail} and wants {about}: no guess is surer than {value} (at most "
         "{threshold}*)", "<=", 0.5, True),
    Rule("covered", YES, "an attacker who knows {about}: a belief of {detail} becomes at most {value}"),
    Rule("member", YES, "an attacker who knows everybody else: whether a {about} is in it stays open, with epsilon "
         "{value} and delta {detail}; what is true of people in general is not hidden"),
    Rule("holder", YES, "an attacker who holds {about}: the risk is at most {value}"),
)  # fmt: skip
RULES: Mapping[str, Rule] = {rule.name: rule for rule in _RULES}


@dataclass(frozen=True)
class Verdict:
    """The word, why, and against whom there is a bound."""

    word: str
    because: tuple[str, ...] = ()
    """Why not, or on which conditions; nothing where it may go out."""
    against: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As every JSON has it."""
        return {"word": self.word, "because": list(self.because), "against": list(self.against)}

    @property
    def sentence(self) -> str:
        """The answer in one sentence, with the first reason."""
        if self.word == YES:
            return f"It may go out: yes, against {self.against[0]}"
        first, more = self.because[0], len(self.because) - 1
        said = f" (and {more} more)" if more else ""
        return f"It may go out only if {first}{said}" if self.word == ONLY_IF else f"It may not go out: {first}{said}"

    def parts(self) -> tuple[Part, ...]:
        """What a person reads."""
        lines = [Line(f"May it go out?  {self.word}", "verdict")]
        lines += [Line(text, ONLY_IF if self.word == ONLY_IF else "because") for text in self.because]
        lines += [Line(text, "against") for text in self.against]
        if any("*" in line.text for line in lines):
            lines.append(Line("* a convention; others may draw the line elsewhere", quiet=True))
        return tuple(lines)


def judge(found: Iterable[Evidence]) -> Verdict:
    """The verdict on all evidence: the strongest word that a rule speaks for, with the sentences of that word."""
    said: dict[str, list[str]] = {NO: [], ONLY_IF: [], YES: []}
    for evidence in found:
        rule = RULES[evidence.rule]
        if rule.holds(evidence.value):
            said[rule.word].append(_sentence(rule, evidence))
    if not any(said.values()):
        said[ONLY_IF].append(RULES["unbounded"].sentence)
    word = next(word for word in (NO, ONLY_IF, YES) if said[word])
    because = [] if word == YES else dict.fromkeys(said[word])
    return Verdict(word, tuple(because), tuple(dict.fromkeys(said[YES])))


def _sentence(rule: Rule, evidence: Evidence) -> str:
    return rule.sentence.format(
        about=evidence.about,
        detail=evidence.detail,
        value=shown_number(evidence.value),
        share=f"{evidence.value:.0%}",
        rows="1 row" if evidence.value == 1 else f"{shown_number(evidence.value)} rows",
        threshold=f"{rule.threshold:.0%}" if "{share}" in rule.sentence else shown_number(rule.threshold),
    )
