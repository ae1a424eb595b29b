"""Hints for unknown functions: what another system calls so, or a slip in a name."""

from __future__ import annotations

from collections.abc import Iterable

from cedilla.compiler.expressions.aggregates import aggregate_functions
from cedilla.compiler.expressions.scalars import scalar_functions
from cedilla.compiler.expressions.units.conversions import names_conversion
from cedilla.grammar.diagnostics.suggestions import did_you_mean, suggest
from cedilla.grammar.hints import synonyms
from cedilla.grammar.hints.function_synonyms import AGGREGATES, SCALARS, percentile

_NO_GUESS = "no function has this name; `cedilla docs functions` lists all"


def hint_for_scalar(name: str) -> str:
    """Returns a hint: the replacement of an unknown function of one tuple."""
    hints = [SCALARS[name]] if name in SCALARS else []
    hints += [synonyms.CONVERTED] if names_conversion(name) else []
    if hints:
        return "; ".join(hints)
    if (of_many := AGGREGATES.get(name) or percentile(name)) is not None:
        sign = "" if of_many.endswith("?") else ";"
        return f"{of_many}{sign} functions of many tuples are for `aggregate[... as name by ...](R)`"
    if (guess := _near(name, scalar_functions.FUNCTIONS)) is not None:
        return f"did you mean `{guess}`?"
    guess = _near(name, aggregate_functions.FUNCTIONS)
    if guess is not None:
        return (
            f"`aggregate[{aggregate_functions.FUNCTIONS[guess].usage} as name by k, w](R)` has this function"
        )
    guess = _near(name, (*SCALARS, *AGGREGATES), most=1)
    return _NO_GUESS if guess is None else hint_for_scalar(guess)


def _near(name: str, functions: Iterable[str], most: int = 2) -> str | None:
    """Returns the function that a name misspells. A longer name is another function (`sind`), unless it ends with a
    plural or a letter twice."""
    guess = suggest(name, functions, most)
    if guess is None or not name.startswith(guess):
        return guess
    return guess if name[len(guess) :] in ("", "s", guess[-1]) else None


def hint_for_aggregate(name: str) -> str:
    """Returns a hint: the replacement of an unknown aggregate function."""
    if (hint := AGGREGATES.get(name) or percentile(name)) is not None:
        return hint
    if names_conversion(name):
        return synonyms.CONVERTED
    functions = aggregate_functions.FUNCTIONS
    if (guess := _near(name, functions)) is not None:
        return f"did you mean `{functions[guess].usage}`?"
    guess = _near(name, AGGREGATES, most=1)
    if guess is not None:
        return AGGREGATES[guess]
    return SCALARS.get(name) or did_you_mean(name, functions, "functions")
