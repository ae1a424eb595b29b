"""Variances and covariances as SQL templates: partial results are counts, means and sums of products of deviations.

Chan, Golub and LeVeque's pairwise update merges them. It is stable where sums of squares would cancel.
"""

from __future__ import annotations

SPREAD = {
    "spread": "named_struct('n', count({x}), 'mean', avg(CAST({x} AS DOUBLE)), 'm2', var_pop({x}) * count({x}))"
}
MERGE_SPREAD = {
    "spread": "aggregate(collect_list(`{p}$spread`), named_struct('n', 0L, 'mean', 0D, 'm2', 0D), "
    "(a, b) -> IF(b.n = 0, a, named_struct("
    "'n', a.n + b.n, "
    "'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), "
    "'m2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / (a.n + b.n))))"
}
JOINT = {
    "joint": "named_struct('n', count({x}), "
    "'mx', avg(CAST({x} AS DOUBLE)), 'my', avg(CAST({y} AS DOUBLE)), "
    "'xx', var_pop({x}) * count({x}), 'yy', var_pop({y}) * count({x}), 'xy', covar_pop({x}, {y}) * count({x}))",
    # Only this decides exactly if values differ: moments of equal values can be slightly above zero.
    **{f"{end}_{v}": f"{end}({{{v}}})" for end in ("min", "max") for v in "xy"},
}
MERGE_JOINT = {
    "joint": "aggregate(collect_list(`{p}$joint`), "
    "named_struct('n', 0L, 'mx', 0D, 'my', 0D, 'xx', 0D, 'yy', 0D, 'xy', 0D), "
    "(a, b) -> IF(b.n = 0, a, named_struct("
    "'n', a.n + b.n, "
    "'mx', a.mx + (b.mx - a.mx) * b.n / (a.n + b.n), "
    "'my', a.my + (b.my - a.my) * b.n / (a.n + b.n), "
    "'xx', a.xx + b.xx + (b.mx - a.mx) * (b.mx - a.mx) * a.n * b.n / (a.n + b.n), "
    "'yy', a.yy + b.yy + (b.my - a.my) * (b.my - a.my) * a.n * b.n / (a.n + b.n), "
    "'xy', a.xy + b.xy + (b.mx - a.mx) * (b.my - a.my) * a.n * b.n / (a.n + b.n))))",
    **{f"{end}_{v}": f"{end}(`{{p}}${end}_{v}`)" for end in ("min", "max") for v in "xy"},
}


def of_sample(sums: str) -> str:
    """Returns the mean of products by `n - 1`, undefined for one value. `sums`: the field of a partial result."""
    part, _, _ = sums.rpartition(".")
    return f"IF({part}.n > 1, {sums} / ({part}.n - 1), NULL)"


def of_population(sums: str) -> str:
    """Returns the mean of products by `n`."""
    part, _, _ = sums.rpartition(".")
    return f"{sums} / nullif({part}.n, 0)"
