"""Splits names of fields into words, and finds the unit at the end of a name."""

from __future__ import annotations

import re


def words_of(name: str) -> list[str]:
    """Returns the words of a name: of `roomTemp_C` room, temp and c."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+", name)
    return [part.lower() for part in parts]


_UNITS = {
    **dict.fromkeys(("celsius", "degc", "°c"), "degC"),
    **dict.fromkeys(("fahrenheit", "degf", "°f"), "degF"),
    **dict.fromkeys(("kelvin",), "K"),
    **dict.fromkeys(("seconds", "secs", "sec"), "s"),
    **dict.fromkeys(("ms", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("micros", "us"), "us"),
    **dict.fromkeys(("ns", "nanos"), "ns"),
    **dict.fromkeys(("minutes", "mins"), "min"),
    **dict.fromkeys(("hours", "hrs"), "h"),
    **dict.fromkeys(("litres", "liters"), "L"),
    **dict.fromkeys(("kw", "kilowatt"), "kW"),
    **dict.fromkeys(("watt", "watts"), "W"),
    "kwh": "kWh",
    "wh": "Wh",
    "kpa": "kPa",
    "hpa": "hPa",
    "mbar": "mbar",
    "psi": "psi",
    "mm": "mm",
    "cm": "cm",
    "km": "km",
    "meters": "m",
    "metres": "m",
    "kg": "kg",
    "volt": "V",
    "volts": "V",
    "ampere": "A",
    "amps": "A",
    "hz": "Hz",
    "khz": "kHz",
    "mhz": "MHz",
    "percent": "%",
    "pct": "%",
    "bytes": "byte",
    "m³": "m3",
    "m3": "m3",
}
"""Words in names that mean a unit. Letters alone, as the `c` of `t_c`, mean one only in brackets or at the end."""
_LETTERS = {
    "c": "degC",
    "f": "degF",
    "k": "K",
    "w": "W",
    "v": "V",
    "a": "A",
    "l": "L",
    "s": "s",
    "m": "m",
    "%": "%",
}
_TEMPERATURES = {"t", "temp", "temperature", "tmp"}


def unit_in(name: str) -> str:
    """Returns the unit at the end of a name or in brackets, `latency_ms`, `tempF`, `Power (kW)`; empty without one."""
    if match := re.search(r"[\[(]\s*([^\[\]()]+?)\s*[\])]\s*$", name):
        inside = match[1].lower()
        return _UNITS.get(inside) or _LETTERS.get(inside, "")
    *before, last = words_of(name) or [""]
    if last in _UNITS:
        return _UNITS[last]
    is_temperature = last in ("c", "f", "k") and bool(_TEMPERATURES & {*before})
    is_electric = last in ("w", "v", "a") and bool({"power", "voltage", "current", "load"} & {*before})
    return _LETTERS[last] if is_temperature or is_electric else ""


def base_name(name: str) -> str:
    """Returns a name without the unit at its end: `temp` of `temp_c`."""
    words = words_of(re.sub(r"[\[(][^\[\]()]*[\])]\s*$", "", name))
    return "_".join(
        words[:-1] if len(words) > 1 and unit_in(name) and not re.search(r"[\])]\s*$", name) else words
    )
