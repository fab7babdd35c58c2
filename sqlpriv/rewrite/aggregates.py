"""The aggregates that can be estimated, each declared once.

Binding lets these stand in a query, and names their families where it refuses another (bind/expressions,
bind/refusals). Estimating goes by `estimated_by` (estimate/form_builder): a sum, the average of what is summed, a
statistic of moments, or what the counts of each value say (by_value). Bounds over a release of classes, hard or of a
sample, are given where the entry says so. docs/query.md names all of them; a test compares.

To add one: an entry here; for a statistic the method of that name in estimate/statistics.Moments.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.rewrite.syntax import HISTOGRAM

SUM = "a sum"
AVERAGE = "a sum over a count"
STATISTIC = "a function of moments"
ROOT = "the root of another aggregate"
BY_VALUE = "read off the counts of each value"


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function of DuckDB."""

    name: str
    """As docs name it."""
    node: type[exp.Expr]
    """What sqlglot reads it as."""
    family: str
    """What refusals call it and its like, in the plural."""
    estimated_by: str
    statistic: str = ""
    """Of a STATISTIC, the method of estimate/statistics.Moments that gives its form."""
    of_two: bool = False
    """Whether it is of two columns; the first is the one explained, as in regr_slope(y, x)."""
    square: type[exp.Expr] | None = None
    """Of a ROOT, what it is the root of."""
    bounded_by_classes: bool = False
    """Whether it has bounds, too, over a release of classes. A statistic has none: it is bounded as if the means in it
    were known. Nor has a quantile."""
    is_continuous: bool = False
    """Whether a quantile may lie between two values."""
    unknown_as: str = ""
    """A name of it that sqlglot takes for any function."""


AGGREGATES = (
    Aggregate("count", exp.Count, "counts", SUM, bounded_by_classes=True),
    Aggregate("count_if", exp.CountIf, "counts", SUM, bounded_by_classes=True),
    Aggregate("sum", exp.Sum, "sums", SUM, bounded_by_classes=True),
    Aggregate("avg", exp.Avg, "averages", AVERAGE, bounded_by_classes=True, unknown_as="mean"),
    Aggregate("var_samp", exp.Variance, "variances", STATISTIC, "sample_variance"),
    Aggregate("var_pop", exp.VariancePop, "variances", STATISTIC, "variance"),
    Aggregate("stddev", exp.Stddev, "variances", ROOT, square=exp.Variance),
    Aggregate("stddev_samp", exp.StddevSamp, "variances", ROOT, square=exp.Variance),
    Aggregate("stddev_pop", exp.StddevPop, "variances", ROOT, square=exp.VariancePop),
    Aggregate("skewness", exp.Skewness, "skewness", STATISTIC, "skewness"),
    Aggregate("covar_samp", exp.CovarSamp, "variances", STATISTIC, "sample_covariance", of_two=True),
    Aggregate("covar_pop", exp.CovarPop, "variances", STATISTIC, "covariance", of_two=True),
    Aggregate("corr", exp.Corr, "correlations", STATISTIC, "correlation", of_two=True),
    Aggregate("regr_slope", exp.RegrSlope, "regressions", STATISTIC, "slope", of_two=True),
    Aggregate("regr_intercept", exp.RegrIntercept, "regressions", STATISTIC, "intercept", of_two=True),
    Aggregate("regr_r2", exp.RegrR2, "regressions", STATISTIC, "explained", of_two=True),
    Aggregate("median", exp.Median, "quantiles", BY_VALUE, is_continuous=True),
    Aggregate("quantile_cont", exp.PercentileCont, "quantiles", BY_VALUE, is_continuous=True),
    Aggregate("quantile_disc", exp.PercentileDisc, "quantiles", BY_VALUE),
    Aggregate("quantile", exp.Quantile, "quantiles", BY_VALUE),
    Aggregate("approx_quantile", exp.ApproxQuantile, "quantiles", BY_VALUE),
    Aggregate("histogram", HISTOGRAM, "histograms", BY_VALUE, bounded_by_classes=True, unknown_as="histogram"),
)
FAMILIES = tuple(dict.fromkeys(a.family for a in AGGREGATES))
UNKNOWN_NAMES = {a.unknown_as: a for a in AGGREGATES if a.unknown_as}
_BY_NODE = {a.node: a for a in AGGREGATES}


def aggregate_of(node: exp.Expr) -> Aggregate | None:
    """The entry of an aggregate, with or without FILTER, and of a quantile also WITHIN GROUP; None if it has none."""
    inner = node.this if isinstance(node, exp.Filter) else node
    if isinstance(inner, exp.WithinGroup):
        found = _BY_NODE.get(type(inner.this))
        return found if found is not None and found.estimated_by == BY_VALUE else None
    return _BY_NODE.get(type(inner))
