"""Little languages inside PostgreSQL's texts, written as DuckDB reads them: patterns, formats of dates, arrays."""

from __future__ import annotations

import re
from datetime import datetime, timezone

# What means the same to PostgreSQL and to DuckDB (RE2): everything but these.
_OTHER_REGEX = re.compile(r"\(\?|\*\*\*|\[\[[.=]|\[:[<>]:\]|\{,|\\(?![dDwWsS])[A-Za-z0-9]|\\$")
_SIMILAR = re.compile(r"\\.|\[\^?[^\]]*\]|.", re.DOTALL)
_PLAIN_IN_SIMILAR = frozenset("|*+?{}()")
_MAPPED_IN_SIMILAR = {"%": ".*", "_": "."}

# A pattern of to_char(), by what strftime() writes for it; longer ones first.
_DATES = {
    "FMMonth": "%B", "FMMon": "%b", "FMDy": "%a", "FMDay": "%A", "FMDD": "%-d", "FMMM": "%-m", "FMHH24": "%-H",
    "FMHH12": "%-I", "FMMI": "%-M", "FMSS": "%-S", "FMDDD": "%-j", "YYYY": "%Y", "IYYY": "%G", "HH24": "%H",
    "HH12": "%I", "HH": "%I", "DDD": "%j", "Mon": "%b", "Dy": "%a", "MM": "%m", "DD": "%d", "MI": "%M", "SS": "%S",
    "US": "%f", "MS": "%g", "IW": "%V", "ID": "%u", "YY": "%y", "AM": "%p", "PM": "%p",
}  # fmt: skip
COMPUTED = {
    "Q": "CAST(quarter(x) AS TEXT)",
    "D": "CAST(dayofweek(x) + 1 AS TEXT)",
    "W": "CAST((day(x) - 1) // 7 + 1 AS TEXT)",
    "WW": "lpad(CAST((dayofyear(x) - 1) // 7 + 1 AS TEXT), 2, '0')",
    "Day": "rpad(strftime(x, '%A'), 9, ' ')",
    "DAY": "rpad(upper(strftime(x, '%A')), 9, ' ')",
    "day": "rpad(lower(strftime(x, '%A')), 9, ' ')",
    "Month": "rpad(strftime(x, '%B'), 9, ' ')",
    "MONTH": "rpad(upper(strftime(x, '%B')), 9, ' ')",
    "month": "rpad(lower(strftime(x, '%B')), 9, ' ')",
    "FMMONTH": "upper(strftime(x, '%B'))",
    "FMmonth": "lower(strftime(x, '%B'))",
    "FMDAY": "upper(strftime(x, '%A'))",
    "FMday": "lower(strftime(x, '%A'))",
    "MON": "upper(strftime(x, '%b'))",
    "mon": "lower(strftime(x, '%b'))",
    "DY": "upper(strftime(x, '%a'))",
    "dy": "lower(strftime(x, '%a'))",
}
"""What strftime() has no letter for, as SQL over x."""
_DATE_PART = re.compile(
    rf'"[^"]*"|{"|".join(sorted([*_DATES, *COMPUTED], key=len, reverse=True))}|[A-Za-z]+|.', re.DOTALL
)


def same_regex(pattern: str) -> bool:
    """Whether a regular expression means the same to both, where it is asked whether a text matches."""
    return _OTHER_REGEX.search(pattern) is None


def replaces_same(pattern: str) -> bool:
    """Whether it also finds the same part of the text: PostgreSQL looks for the longest match, DuckDB for the first."""
    return same_regex(pattern) and not re.search(r"\||[*+?}]\?", pattern)


def similar_regex(pattern: str) -> str | None:
    """The regular expression for a whole text of a SIMILAR TO pattern; None if it has an escape.

    >>> similar_regex("(Ly|Li)%")
    '^(?:(Ly|Li).*)$'
    """
    parts = []
    for part in _SIMILAR.findall(pattern):
        if part[0] == "\\" or (part[0] == "[" and not same_regex(part)):
            return None
        if part in _MAPPED_IN_SIMILAR:
            parts.append(_MAPPED_IN_SIMILAR[part])
        else:
            parts.append(part if part in _PLAIN_IN_SIMILAR or (part[0] == "[" and len(part) > 1) else re.escape(part))
    return f"^(?:{''.join(parts)})$"


def date_format(pattern: str) -> list[str] | None:
    """The formats of strftime() for one of to_char(), with the names of COMPUTED between; None if it has others.

    >>> date_format("YYYY-MM"), date_format('YYYY-"Q"Q'), date_format("RM")
    (['%Y-%m'], ['%Y-Q', 'Q', ''], None)
    """
    parts = [""]
    for part in _DATE_PART.findall(pattern):
        if part in COMPUTED:
            parts += [part, ""]
        elif part[0] == '"':
            parts[-1] += part[1:-1].replace("%", "%%")
        elif _DATES.get(part):
            parts[-1] += _DATES[part]
        elif part.isalpha():
            return None
        else:
            parts[-1] += part.replace("%", "%%")
    return parts


def array_elements(text: str) -> list[str | None] | None:
    """The elements of an array that is written as a text; None if it is none, or has arrays in it.

    >>> array_elements('{1,2}'), array_elements('{a,"b,c",NULL}'), array_elements("{}")
    (['1', '2'], ['a', 'b,c', None], [])
    """
    inside = text.strip()
    if not re.fullmatch(r"\{.*\}", inside, re.DOTALL):
        return None
    inside = inside[1:-1].strip()
    found: list[str | None] = []
    element = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^"{},\\]+?))\s*(,|$)', re.DOTALL)
    at = 0
    while at < len(inside):
        one = element.match(inside, at)
        if one is None or (one[3] and one.end() == len(inside)):
            return None
        if one[1] is not None:
            found.append(re.sub(r"\\(.)", r"\1", one[1], flags=re.DOTALL))
        else:
            found.append(None if one[2].upper() == "NULL" else one[2])
        at = one.end()
    return found


def utc_text(text: str) -> str | None:
    """A point in time, perhaps with its distance from UTC, as a timestamp of UTC; None if it cannot be read.

    >>> utc_text("2024-01-31T12:00:00+02"), utc_text("2024-01-31")
    ('2024-01-31 10:00:00', '2024-01-31 00:00:00')
    """
    written = re.sub(r"([+-]\d\d)$", r"\1:00", re.sub(r"[Zz]$", "+00:00", text.strip()))
    written = re.sub(r"(\d{2}:\d{2}:\d{2}\.)(\d{1,6})(?=[+-]|$)", lambda m: m[1] + m[2].ljust(6, "0"), written)
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return (found.astimezone(timezone.utc).replace(tzinfo=None) if found.tzinfo else found).isoformat(" ")
