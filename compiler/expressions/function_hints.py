"""Hints for unknown functions: what another system calls so, or a slip in a name."""

from __future__ import annotations

from cedilla.compiler.expressions import aggregate_functions, scalar_functions
from cedilla.compiler.expressions.conversions import names_conversion
from cedilla.grammar import foreign
from cedilla.grammar.foreign_functions import AGGREGATES, SCALARS, percentile
from cedilla.grammar.suggestions import closest, meant

_NO_GUESS = "there is none of this name: the page of the language lists all functions"


def hint_for_scalar(name: str) -> str:
    """What to write in place of an unknown function of one tuple."""
    hints = [SCALARS[name]] if name in SCALARS else []
    hints += [foreign.CONVERTED] if names_conversion(name) else []
    if hints:
        return "; ".join(hints)
    if (of_many := AGGREGATES.get(name) or percentile(name)) is not None:
        return f"{of_many} functions of many tuples are for `aggregate[... as name by ...](R)`"
    if (guess := closest(name, scalar_functions.FUNCTIONS)) is not None:
        return f"did you mean `{guess}`?"
    guess = closest(name, aggregate_functions.FUNCTIONS)
    if guess is not None:
        return (
            f"`aggregate[{aggregate_functions.FUNCTIONS[guess].usage} as name by k, w](R)` has this function"
        )
    guess = closest(name, (*SCALARS, *AGGREGATES), most=1)
    return _NO_GUESS if guess is None else hint_for_scalar(guess)


def hint_for_aggregate(name: str) -> str:
    """What to write in place of an unknown aggregate function."""
    if (hint := AGGREGATES.get(name) or percentile(name)) is not None:
        return hint
    if names_conversion(name):
        return foreign.CONVERTED
    functions = aggregate_functions.FUNCTIONS
    if (guess := closest(name, functions)) is not None:
        return f"did you mean `{functions[guess].usage}`?"
    guess = closest(name, AGGREGATES, most=1)
    if guess is not None:
        return AGGREGATES[guess]
    return SCALARS.get(name) or meant(name, functions, "functions")
