"""Names of units that pint misreads: `C`, `mbps`, `pct`. Does not import pint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain

ANNOTATION = re.compile(r"\{[^{}]*\}")
"""UCUM's annotations: alone they name the counted things, `{request}`; after a unit they change nothing."""
_BRACKETED = re.compile(r"\w*\[[^\]]*\]|\{[^}]*\}")
"""A code in brackets with its prefix, or an annotation."""
WORD = re.compile(r"°?[^\W\d_]\w*|[%°]")
"""A word of a name."""

_BITS = "`bit` of information; `barn` is a cross section"
TRAPS: Mapping[str, str] = {
    "C": "`degC` of temperatures, `coulomb` of charges",
    "F": "`degF` of temperatures, `farad` of capacities",
    "R": "`roentgen`, `degR`, or `molar_gas_constant`",
    "c": "`{cent}`, or `speed_of_light`",
    "e": "`elementary_charge`; an energy is in `eV`",
    "k": "a unit with its prefix, as `kW`; or `boltzmann_constant`",
    **dict.fromkeys(("kilo", "kilos", "kgs"), "`kilogram` of masses; a prefix alone is not a unit"),
    "pH": "`pH_value` of acidities, `picohenry` of inductances",
    "PH": "`pH_value` of acidities, `petahenry` of inductances",
    "ph": "`pH_value` of acidities, `picohour`",
    **dict.fromkeys(
        ("dBA", "dB(A)", "dB(C)", "dB(Z)"), "`dBSPL` of sound pressures, whatever their weighting"
    ),
    "dBu": "`decibelmicrowatt` of powers; of voltages, `alter(x, y -> 20 * log10(y / 0.775))`",
    "hbar": "`bar` of pressures with another prefix, or `dirac_constant`",
    "AU": "`au` of lengths, `absorbance_unit` of samples",
    "st": "`stone` of masses, `stere` of volumes",
    "ct": "`carat` of masses; of money, `unit EUR; unit ct = EUR / 100;`",
    "Cal": "`kcal` of food, else `cal`",
    "Gal": "`gallon` of volumes, `galileo` of accelerations",
    "Nm": "`N*m` of torques, `nm` of lengths, `number_meter` of yarns",
    "PS": "`metric_horsepower` of engines, `petasiemens` of conductances",
    "mbps": "`Mbit/s`; a millibit has no meaning",
    "mBps": "`MB/s`; a millibyte has no meaning",
    "mbit": "`Mbit`; a millibit has no meaning",
    "mB": "`MB`; a millibyte has no meaning",
    "mb": "`mbar` of pressures, `Mbit` of information, `millibarn` of cross sections",
    "Gb": f"`Gbit`, or `gilbert`: {_BITS}",
    "db": "`dB` of levels, `decibarn` of cross sections",
    "fps": "`ft/s` of speeds, `{frame}/s` of images",
    "rps": "`{request}/s`, or `revolution/s` of rotations",
    "pc": "`{piece}`, or `parsec` of lengths",
    "pcs": "`{piece}`, or `parsec` of lengths",
    "pp": "`percent` of shares, `printers_point` of lengths",
    "bp": "`percent` of shares, `{base}` of sequences, `printers_point` of lengths",
    "pps": "`{packet}/s`, or `printers_point` of lengths",
    "pt": "`pint` of volumes, `printers_point` of lengths",
    "pts": "`{point}`, or `printers_point` of lengths",
    "point": "`{point}`, or `printers_point` of lengths",
    "points": "`{point}`, or `printers_point` of lengths",
    "dpi": "`dots_per_inch` of images, `dry_pint` of volumes",
    "ppt": "`permille` or `pptr`, parts in a thousand or in 10^12",
    "pct": "`percent`",
    "Min": "`minute`",
    "MM": "a unit with its prefix, as `MBtu`; or `megamolar`",
    "MT": "`Mt` or `megatonne` of masses, `megatesla` of fields",
    "mt": "`tonne`, or `millitonne`",
    "ma": "`mA`, or `milliyear`",
    "MBtu": "`kiloBtu` or `megaBtu`: M is a thousand to some, a million to others",
    "MBTU": "`kiloBtu` or `megaBtu`: M is a thousand to some, a million to others",
    "unit": "`{unit}` of what is counted",
    "units": "`{unit}` of what is counted",
    "sv": "`Sv` of doses, `sverdrup` of currents",
    "'": "`arcminute` of angles, `ft` of lengths",
    "''": "`arcsecond` of angles, `in` of lengths",
}
"""Ambiguous name -> the spellings to write instead."""
_TRAPS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"(?:[kKMGTPE]i?)?b", _BITS),
        *((re.escape(name), instead) for name, instead in TRAPS.items()),
    )
)

_WHOLE = (
    (re.compile(r".*/[0-9.]*[0-9][^\W\d].*"), "the number in parentheses with a point, as in `mmol/(8.h)`"),
    (
        re.compile(r".*\[p'diop\].*|.*%\[slope\].*"),
        "`degree`: the tangent of an angle is not a multiple of it",
    ),
    (re.compile(r".*[^\W\d_]%.*"), "`g/dL` of concentrations, `percent` of shares"),
)
"""Patterns of whole names whose parts would mean another unit, and what to write instead."""

_TAKES_PREFIXES = """
meter gram second ampere kelvin candela mole radian steradian hertz newton pascal joule watt coulomb volt farad ohm
siemens weber tesla henry lumen lux becquerel gray sievert katal liter metric_ton bar electron_volt bit byte
bit_per_second baud watt_hour ampere_hour volt_ampere volt_ampere_hour volt_ampere_reactive volt_ampere_reactive_hour
calorie curie rem molar dalton parsec arcsecond poise stokes gauss equivalents osmole enzyme_unit international_unit
pound_force_per_square_inch meter_Hg meter_H2O tex counts_per_second tonne_of_oil_equivalent ton_TNT roentgen bel barye
dyne erg light_year angstrom galileo torr
"""
"""Units that take short prefixes. Pint takes them before every name, and reads `pct` as a picocarat."""
_TAKES_ALL = "bit byte bit_per_second hertz joule watt watt_hour electron_volt gram meter becquerel"
"""Units that also take prefixes beyond tera."""
_SHORT = "f p n u µ μ m mc c d da h k M G T Ki Mi Gi Ti"
_BEYOND = "P E Z Y Pi Ei Zi Yi"
_METRIC, _LARGE = frozenset(_TAKES_PREFIXES.split()), frozenset(_TAKES_ALL.split())
_RAISED = str.maketrans("²³⁴", "234")


def words(name: str) -> Iterator[str]:
    """Yields the parts of a name that are outside of brackets."""
    yield from WORD.findall(_BRACKETED.sub(" ", name))
    if name in ("'", "''"):
        yield name


def in_pints_words(name: str) -> str:
    """Writes a name of another standard as pint or UCUM does: CF's `m s-1`, `mg%`, the codes of SenML and UNECE."""
    if name in CODES_OF_OTHERS:
        return CODES_OF_OTHERS[name]
    if (mass := _PER_DECILITRE.match(name)) is not None:
        return f"{mass[1]}g/dL{name[mass.end() :]}"
    if _PRODUCT_OF_CF.fullmatch(name) and any(sign.isdecimal() for sign in name):
        return "*".join(re.sub(r"(-?\d+)$", r"**(\1)", word) for word in name.split(" "))
    return name


_PER_DECILITRE = re.compile(r"([munµ]?)g%(?=$|[/.*])")
_PRODUCT_OF_CF = re.compile(r"[^\W\d]+(-?[1-9])?( [^\W\d]+(-?[1-9])?)+|[^\W\d]+-[1-9]")
"""A product in the conventions of climate and forecast data, `kg m-2 s-1`."""
CODES_OF_OTHERS: Mapping[str, str] = {
    # SenML (RFC 8428 and its registry).
    "%RH": "percent",
    "%EL": "percent",
    "/": "1",
    "/100": "percent",
    "/1000": "permille",
    "lat": "degree",
    "lon": "degree",
    "beat/min": "{beat}/min",
    "beats": "{beat}",
    # UNECE Recommendation 20, as invoices and industrial data name units.
    "KGM": "kg",
    "GRM": "g",
    "TNE": "tonne",
    "MTR": "m",
    "CMT": "cm",
    "MMT": "mm",
    "KMT": "km",
    "MTK": "m**2",
    "MTQ": "m**3",
    "LTR": "L",
    "MLT": "mL",
    "SEC": "s",
    "HUR": "h",
    "CEL": "degC",
    "FAH": "degF",
    "KEL": "K",
    "WTT": "W",
    "KWT": "kW",
    "KWH": "kWh",
    "JOU": "J",
    "VLT": "V",
    "AMP": "A",
    "HTZ": "Hz",
    "PAL": "Pa",
    "KMH": "km/h",
    "MTS": "m/s",
    "P1": "percent",
}
"""Codes of other standards that pint and UCUM do not have, and their units."""


def instead_of(name: str) -> str | None:
    """Returns what to write instead of a name that is ambiguous, or whose parts would mean another unit; `None` for
    other names."""
    whole = (instead for pattern, instead in _WHOLE if pattern.fullmatch(name))
    traps = (
        instead for word in (name, *words(name)) for pattern, instead in _TRAPS if pattern.fullmatch(word)
    )
    return next(chain(whole, traps), None)


def is_prefixed_well(word: str, prefix: str, unit: str) -> bool:
    """Returns True for a long prefix before a word, and for a short one before a unit that takes it.

    `prefix` and `unit` are pint's full names of the two parts of `word`.
    """
    if not prefix:
        return True
    if word.startswith(prefix):
        return len(word) - len(prefix) >= 3
    prefixes = (_SHORT if unit in _METRIC else "").split() + (_BEYOND if unit in _LARGE else "").split()
    return word.startswith(tuple(prefixes))


def in_lower_case(name: str) -> str:
    """Writes the capitalised words of a name in lower case: `Bytes/Second`."""
    return re.sub(r"\b[A-Z][a-z]{2,}\b", lambda word: word[0].lower(), name)


def with_powers(name: str) -> str:
    """Writes UCUM's powers as pint does: `µg/m3`, `m³`."""
    return re.sub(r"(?<=[^\W\d_])(\d)(?=$|[/*.·)])", r"**\1", name.translate(_RAISED))
