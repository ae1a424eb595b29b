"""What UCUM's codes mean by its own definitions, the file `ucum-essence.xml` that its readers carry."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib import resources

from attrs import frozen

_NAMESPACE = "{http://unitsofmeasure.org/ucum-essence}"
_POWER = re.compile(r"(.*?)([+-]?\d+)")


@frozen
class Meaning:
    """A multiple of UCUM's base units, which have powers."""

    factor: Fraction
    powers: Mapping[str, int]

    def times(self, other: Meaning, power: int = 1) -> Meaning:
        powers = Counter(self.powers)
        for base, exponent in other.powers.items():
            powers[base] += power * exponent
        return Meaning(self.factor * other.factor**power, {b: n for b, n in powers.items() if n})


ONE = Meaning(Fraction(1), {})


@frozen
class Ucum:
    """`definitions`: code -> factor and term; `special`: codes of functions, such as logarithms."""

    prefixes: Mapping[str, Fraction]
    bases: frozenset[str]
    definitions: Mapping[str, tuple[str, str]]
    metric: frozenset[str]
    special: frozenset[str]

    def codes(self) -> Iterator[str]:
        yield from sorted(self.bases)
        yield from self.definitions

    def prefixed(self) -> Iterator[str]:
        """Yields the codes that take prefixes, with each of them."""
        for code in sorted(self.metric - self.special):
            yield from (prefix + code for prefix in self.prefixes)

    def meaning(self, code: str) -> Meaning:
        if code in self.bases:
            return Meaning(Fraction(1), {code: 1})
        if code in self.definitions:
            factor, term = self.definitions[code]
            return self._term(term).times(Meaning(Fraction(factor), {}))
        prefix = next(p for p in sorted(self.prefixes, key=len, reverse=True) if self._is_unit(code, p))
        return self.meaning(code.removeprefix(prefix)).times(Meaning(self.prefixes[prefix], {}))

    def _is_unit(self, code: str, prefix: str) -> bool:
        return code.startswith(prefix) and code[len(prefix) :] in {*self.bases, *self.definitions}

    def _term(self, text: str) -> Meaning:
        """Returns the meaning of a product; its terms in brackets have signs of their own."""
        meaning, sign = ONE, 1
        for part in re.findall(r"[./]|(?:\[[^\]]*\]|[^./\[])+", text):
            if part in ("/", "."):
                sign = -1 if part == "/" else 1
            else:
                meaning = meaning.times(self._component(part), sign)
        return meaning

    def _component(self, text: str) -> Meaning:
        if text.isdecimal():
            return Meaning(Fraction(text), {})
        if text in {*self.bases, *self.definitions} or (match := _POWER.fullmatch(text)) is None:
            return self.meaning(text)
        meaning, power = self.meaning(match[1]), int(match[2])
        return ONE.times(meaning, power)


@cache
def ucum() -> Ucum:
    """Reads the definitions."""
    text = (resources.files("ucumvert") / "vendor" / "ucum-essence.xml").read_bytes()
    root = ET.fromstring(text)
    units = {unit.attrib["Code"]: unit for unit in root.iter(f"{_NAMESPACE}unit")}
    values = {code: unit.find(f"{_NAMESPACE}value") for code, unit in units.items()}
    special = {code for code, unit in units.items() if unit.get("isSpecial") == "yes"}
    return Ucum(
        {
            prefix.attrib["Code"]: Fraction(value.attrib["value"])
            for prefix in root.iter(f"{_NAMESPACE}prefix")
            if (value := prefix.find(f"{_NAMESPACE}value")) is not None
        },
        frozenset(unit.attrib["Code"] for unit in root.iter(f"{_NAMESPACE}base-unit")),
        {
            code: (value.attrib["value"], value.attrib["Unit"])
            for code, value in values.items()
            if value is not None and code not in special
        },
        frozenset(code for code, unit in units.items() if unit.get("isMetric") == "yes"),
        frozenset(special),
    )
