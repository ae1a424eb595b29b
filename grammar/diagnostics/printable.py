"""Text for people: escapes for control signs of streams and queries, and addresses without their secrets."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Signs that move a cursor, colour, or reorder what a terminal shows; all but the tab and the end of a line."""

_NAMES = "secret|passw(?:or)?d|pwd|token|signature|credential|jaas|access_?key|api_?key|account_?key"
# Lengths are bounded, so that no text takes longer than its length.
_SECRETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # A bucket has no port, and a secret key may have slashes in it.
        r"""\b((?:s3[an]?|gs|gcs)://)[^/\s"'`@\\]{0,200}:[^\s"'`\\]{0,400}@""",
        r"""\b([a-z][a-z0-9+.\-]{0,20}://)[^/\s"'`@\\]{0,200}:[^/\s"'`\\]{0,400}@""",
        # Brokers have no scheme.
        r"""(?<![\w.\-:/])()[\w.\-]{1,200}:[^/\s"'`@:,\\]{1,400}@(?=[\w.\-]{1,200}:\d{1,20}[/,])""",
        rf"""([?&;][\w.\-]{{0,60}}?(?:{_NAMES})[\w.\-]{{0,60}}=)[^&;\s"'`\\]+""",
        r"""([?&;]sig=)[^&;\s"'`\\]+""",
    )
)


def printable(text: str) -> str:
    """Returns the text with escapes, `\\x1b`, for control signs. Ends of lines stay."""
    return _CONTROL.sub(lambda sign: _escape(sign[0], "\\x"), text)


def as_utf8(text: str) -> str:
    """Returns the text with U+FFFD for what UTF-8 cannot write: bytes in names of files, halves of pairs in JSON."""
    return _HALVES.sub("\ufffd", text)


_HALVES = re.compile("[\ud800-\udfff]")


def one_line(text: str) -> str:
    """Returns the text as `printable` does, on one line."""
    return printable(text).replace("\n", "\\n")


def json_printable(text: str) -> str:
    """Returns JSON of the same values, with the escapes of JSON for control signs."""
    return _CONTROL.sub(lambda sign: _escape(sign[0], "\\u00"), text)


def _escape(sign: str, short: str) -> str:
    code = ord(sign)
    return f"{short}{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def without_secrets(text: str) -> str:
    """Returns the text with `***` for the secrets of addresses: `s3://***@bucket`, `?password=***`."""
    for pattern in _SECRETS:
        text = pattern.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    return f"{match[1]}***{'@' if match[0].endswith('@') else ''}"


def for_people(text: str) -> str:
    """Returns the text without control signs and secrets."""
    return without_secrets(printable(text))


def has_secret(path: str) -> bool:
    """Returns True for a path or an address with a secret."""
    return without_secrets(path) != path


def signs(row: str) -> list[str]:
    """Returns the shown text of each sign of a line; the first sign of a secret has all of it."""
    shown = [" " if sign == "\t" else one_line(sign) for sign in row]
    for pattern in _SECRETS:
        for match in pattern.finditer(row):
            first = match.start() + len(match[1])
            shown[first : match.end()] = [_masked(match)[len(match[1]) :], *[""] * (match.end() - first - 1)]
    return shown


def counted(number: int, noun: str) -> str:
    """Returns a number with a noun in singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
