"""Pint's registry with dimensions for kinds of quantity (theory N15), and units by their names."""
# pyright: basic
# Only this module, `units` and `kinds` see pint, whose types are partial.

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import sha256
from importlib import resources
from pickle import PickleError
from tokenize import TokenError
from typing import Any

from cedilla.compiler.expressions.units.answers import CACHE_SIZE
from cedilla.compiler.expressions.units.names import (
    ANNOTATION,
    in_lower_case,
    in_pints_words,
    instead_of,
    is_prefixed_well,
    with_powers,
    words,
)
from cedilla.compiler.expressions.units.own import OF, OWN, short
from cedilla.grammar.parsing.cache_dir import place

NUMBER = "dimensionless"
"""The unit of a plain number that results from units, as of a quotient of two of them."""

_MAX_LENGTH = 60
_INVALID = re.compile(r"[\s,;=\x00]|[0-9]{3}|[0-9][eE]|\*\*[^*/]*\*\*")
"""Matches invalid names; pint would calculate powers of any size."""
_ALONE = re.compile(rf"(?:(?<=^)|(?<=[/*.(·])){ANNOTATION.pattern}")
_SAME_SIGNS = str.maketrans(
    dict(zip("\u00b5\u03bc\u2126\u212b\u00b7\u22c5", "uu\u03a9\u00c5**", strict=True))
)
"""Signs that look the same and are two characters: micro and mu, ohm and omega, angstrom, dots between factors."""
_COUNT = "count_of_"
_OWN = "own_unit_"
_TERM = re.compile(r"([*/]|^)([0-9]{1,60}|[^\W\d]\w*|\{[^{}]*\})(?:\*\*([0-9]{1,2}))?(?=[*/]|$)")
"""A factor of a definition: a sign, a number or a unit, and its power."""
_FULL_LENGTH = 400
_full_names: dict[str, str] = {}
"""Name in the registry -> full name of a unit that some query defines."""
_PROBLEMS = (TokenError, ArithmeticError, AssertionError, AttributeError, TypeError, ValueError)


class UnknownUnit(ValueError):
    """No unit has this name. `instead`: the spellings to write if the name is ambiguous."""

    def __init__(self, name: str, instead: str | None = None) -> None:
        super().__init__(name)
        self.instead = instead


@cache
def registry() -> Any:
    """Returns pint's registry with UCUM's units, in fractions, with dimensions for kinds of quantity."""
    from pint import UnitRegistry

    class Registry(UnitRegistry):
        def _after_init(self) -> None:
            """Loads the definitions.

            Pint's own version also computes all conversions in advance, which takes longer.
            """
            for package, file in _DEFINITIONS:
                self.load_definitions(str(resources.files(package) / file))
            for name in _arbitrary(self):
                self.define(f"{name} = [{name}]")
            self._initialized = True

    arguments: dict[str, Any] = {"non_int_type": Fraction, "on_redefinition": "ignore"}
    # Pint caches its definitions, which are slow to read. A damaged or unreadable cache is not used.
    try:
        return Registry(cache_folder=place("pint"), **arguments)
    except (OSError, EOFError, PickleError, AttributeError, ImportError, ValueError):
        return Registry(**arguments)


_DEFINITIONS = (
    ("pint", "default_en.txt"),
    ("ucumvert", "pint_ucum_defs.txt"),
    ("cedilla.compiler.expressions.units", "kinds.txt"),
)
_CODES = {
    "[pH]": "pH_value",
    "[h]": "planck_constant",
    "[g]": "standard_gravity",
    "[G]": "newtonian_constant_of_gravitation",
    "[Btu]": "Btu_th",
}
"""Codes of UCUM that pint, which ignores brackets, takes for others."""
_CODE = re.compile("|".join(map(re.escape, _CODES)))
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_RATIOS = {"strain"}


def _arbitrary(registry: Any) -> list[str]:
    """Returns UCUM's arbitrary units, which are defined as 1. Each is a kind of its own."""
    return sorted(
        {
            unit.name
            for unit in registry._units.values()
            if not unit.is_base and not unit.reference and unit.converter.is_multiplicative
            if unit.converter.scale == 1
        }
        - _RATIOS
    )


@lru_cache(CACHE_SIZE)
def unit_of(name: str) -> Any:
    """Returns pint's unit for a name; of a substance, the unit alone. Raises `UnknownUnit`."""
    if "=" in name:
        return _of_own(name)
    if len(name) > (_FULL_LENGTH if _OWN in name else _MAX_LENGTH) or not name:
        raise UnknownUnit(name)
    shown, name = name, in_pints_words(name)
    if _INVALID.search(name):
        raise UnknownUnit(shown)
    if (instead := instead_of(name)) is not None:
        raise UnknownUnit(shown, instead)
    name = _CODE.sub(lambda code: _CODES[code[0]], name)
    plain = _ALONE.sub(_counted, name)
    for spelling in dict.fromkeys((plain, with_powers(plain.translate(_SAME_SIGNS)))):
        if (unit := _of_pint(spelling, name)) is not None:
            return unit
    if (unit := _of_code(name.translate(_SAME_SIGNS))) is not None:
        return unit
    if (small := in_lower_case(name)) != name:
        return unit_of(small)
    raise UnknownUnit(name)


def _of_own(name: str) -> Any:
    """Returns the unit of a name with definitions, `[ct=EUR/100]/kWh`. Raises `UnknownUnit`."""
    unit, _ = of_substance(name)
    plain = OWN.sub(lambda own: _defined(own[1], own[2]), unit)
    if len(name) > _FULL_LENGTH or "=" in plain:
        raise UnknownUnit(short(name))
    return unit_of(plain)


def of_substance(name: str) -> tuple[str, str]:
    """Splits `mg/dL of [glucose=45039/250]` into the unit and the substance; `""` for other names."""
    unit, of, substance = name.rpartition(OF)
    return (unit, substance) if of and OWN.fullmatch(substance) else (name, "")


@lru_cache(CACHE_SIZE)
def _defined(name: str, definition: str) -> str:
    """Returns the registry's name of an own unit, and defines it on first use. Raises `UnknownUnit`."""
    full = f"[{name}={definition}]"
    # Letters only, because digits and signs are powers and operators in names.
    digest = sha256(full.encode()).hexdigest()[:32].translate(_LETTERS)
    registered = f"{_OWN}{digest}"
    if name == definition:
        registry().define(f"{registered} = [{registered}]")
    else:
        factor, unit = parsed_definition(definition)
        powers = {base: Fraction(power) for base, power in unit._units.items()}
        what = quotient(powers, NUMBER)
        registry().define(f"{registered} = {factor.numerator} / {factor.denominator} * {what}")
    _full_names[registered] = full
    return registered


def parsed_definition(definition: str) -> tuple[Fraction, Any]:
    """Returns the factor and the unit of a definition, `3*EUR/7`. Raises `UnknownUnit`."""
    factor, unit, end = Fraction(1), unit_of(NUMBER), 0
    for term in _TERM.finditer(definition):
        sign, what, exponent = term.groups()
        power = int(exponent or 1) * (-1 if sign == "/" else 1)
        if term.start() != end or (what.isdecimal() and not int(what)):
            break
        end = term.end()
        if what.isdecimal():
            factor *= Fraction(int(what)) ** power
        else:
            unit *= _word_of_definition(what) ** power
    if end != len(definition):
        raise UnknownUnit(definition)
    return factor, unit


def flattened(powers: Mapping[str, int]) -> tuple[Fraction, str]:
    """Returns a product of units as a number and a text that names no defined units. Raises `UnknownUnit`."""
    factor, words = Fraction(1), dict[str, Fraction]()

    def add(unit: Any, power: Fraction) -> None:
        nonlocal factor
        for name, exponent in unit._units.items():
            own, total = OWN.fullmatch(_full_names.get(name, "")), Fraction(exponent) * power
            if own is None or own[1] == own[2]:
                word = written(name) if own is None else own[1]
                words[word] = words.get(word, Fraction(0)) + total
                continue
            more, product = parsed_definition(own[2])
            if total.denominator != 1:
                raise UnknownUnit(own[1])
            factor *= more ** int(total)
            add(product, total)

    for name, power in powers.items():
        add(unit_of(name), Fraction(power))
    return factor, quotient({word: power for word, power in words.items() if power}, "1")


def _word_of_definition(word: str) -> Any:
    """Returns the unit of a word in a definition; one that no registry has is an own unit with its own dimension."""
    try:
        return unit_of(word)
    except UnknownUnit:
        return unit_of(f"[{word}={word}]")


def _of_pint(spelling: str, name: str) -> Any:
    """Returns pint's unit, or `None`. Raises `UnknownUnit` for a prefix before a unit that takes none, as in `pct`."""
    from pint import PintError

    # Pint parses names as Python, so an invalid name may also be a syntax error, or a number.
    try:
        unit = registry().parse_units(spelling)
    except (PintError, *_PROBLEMS):
        return None
    for word in words(spelling):
        if word.startswith((_COUNT, _OWN)):
            continue
        prefix, whole, _ = next(iter(registry().parse_unit_name(word)), ("", word, ""))
        if not is_prefixed_well(word, prefix, whole):
            raise UnknownUnit(name, f"`{prefix}{whole}` if you want that, `{{{word}}}` of what is counted")
    return unit


def _of_code(code: str) -> Any:
    """Returns the unit of a UCUM code, or `None`. Annotations that occur alone are factors."""
    from lark.exceptions import LarkError
    from pint import PintError

    counts = [
        (_counted(annotation), -1 if code[: annotation.start()].endswith("/") else 1)
        for annotation in _ALONE.finditer(code)
    ]
    if counts and "(" in code:
        return None
    try:
        quantity = _codes()(_ALONE.sub("1", code)) if counts else _codes()(code)
        if not hasattr(quantity, "units"):
            return None
        unit = quantity.units if quantity.magnitude == 1 else _multiple(code, quantity)
        if any(map(_is_prefixed_twice, unit._units)):
            return None
        for count, sign in counts:
            unit *= registry().parse_units(count) ** sign
    except (PintError, LarkError, AttributeError, TypeError, ValueError):
        return None
    return unit


def _is_prefixed_twice(name: str) -> bool:
    """Returns True for a name such as `gigapicohour`, which pint takes for `Gph`."""
    prefix, whole, _ = registry().parse_unit_name(name)[0]
    return bool(prefix) and bool(registry().parse_unit_name(whole)[0][0])


def _multiple(code: str, quantity: Any) -> Any:
    """Returns the unit of a code with factors, `10.L/min`, which is defined as an own unit is."""
    factor = Fraction(quantity.magnitude)
    if factor <= 0 or not quantity.units._units:
        raise UnknownUnit(code)
    powers = {written(name): Fraction(power) for name, power in quantity.units._units.items()}
    above = f"{factor.numerator}*" if factor.numerator != 1 else ""
    below = f"/{factor.denominator}" if factor.denominator != 1 else ""
    return unit_of(f"[{code}={above}{quotient(powers, '1')}{below}]")


@cache
def _codes() -> Callable[[str], Any]:
    """Returns the parser of UCUM codes."""
    from ucumvert.parser import get_ucum_parser, parse_ucum
    from ucumvert.ucum_pint import UcumToPintTransformer

    parser, transformer = get_ucum_parser(), UcumToPintTransformer(registry())
    return lambda code: transformer.transform(parse_ucum(code, parser))


def _counted(annotation: re.Match[str]) -> str:
    """Returns the registry's name for the thing that an annotation counts; it is a dimension of its own."""
    what = annotation[0][1:-1]
    if what == "count":
        return what
    name = _COUNT + re.sub(r"[\W_]", lambda sign: f"_{ord(sign[0]):x}_", what)
    if name not in registry()._units:
        registry().define(f"{name} = [{name}]")
    return name


def text(unit: Any) -> str:
    """Returns the name of a computed unit, which `unit_of` parses again; pint's own text fails on fractions."""
    return quotient({written(name): Fraction(power) for name, power in unit._units.items()}, NUMBER)


def quotient(powers: Mapping[str, Fraction], nothing: str) -> str:
    """Joins names with their powers: `a*b**2/c`. Returns `nothing` for an empty mapping."""
    above = [_power(name, power) for name, power in powers.items() if power > 0]
    below = [_power(name, -power) for name, power in powers.items() if power < 0]
    if not below:
        return "*".join(above) or nothing
    return "/".join(("*".join(above) or "1", *below))


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"


def is_count(base: str) -> bool:
    """Returns True for base units that count things."""
    return base.startswith(_COUNT) or base in ("count", "decay", "symbol")


def written(name: str) -> str:
    """Returns a name of the registry in the user's spelling: an annotation in its braces, an own unit with its
    definition."""
    if name in _full_names:
        return _full_names[name]
    if not name.startswith(_COUNT):
        return name
    what = re.sub(r"_([0-9a-f]+)_", lambda sign: chr(int(sign[1], 16)), name.removeprefix(_COUNT))
    return f"{{{what}}}"
