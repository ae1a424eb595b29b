"""Settings of a query: their names, and checks of their values."""

from __future__ import annotations

import re

from cedilla.grammar.syntax.change_policy import ANY, policy_fault, policy_of

SETTINGS: dict[str, tuple[str, ...]] = {
    "accents": ("accumulate", "strict"),
    "drop": ("exact", "eager"),
    "invalid": ("quarantine", "abort"),
    "late": ("quarantine", "abort", "ignore"),
    "drift": ("ignore", "infer", "quarantine", "abort"),
    "suspect": ("off", "warn"),
    "gaps": ("abort", "skip"),
    "unknown_schema": ("quarantine", "abort", "import"),
    "bad_markers": ("abort", "quarantine"),
    "changes": (ANY,),
    "doubtful": ("warn", "abort"),
    "longest_line": ("16 MiB",),
}
"""Settings of a query and their values, the default first (paper, section 6.2). A size and a policy of changes have
only their defaults here."""
SETTING_MEANINGS: dict[str, str] = {
    "accents": "An accent that cannot pass a project or an aggregate yet waits for others; `strict` ends the query "
    "(RQ211). Accents that wait for the other input of a union or join always wait.",
    "drop": "A Drop waits at a join or aggregate while kept state has the attribute. `eager` announces it at once, and "
    "later results lack the attribute.",
    "invalid": "Sets tuples with RQ301 to RQ304 aside; `abort` ends the query.",
    "late": "Sets late tuples aside (RQ305); `ignore` only counts them, `abort` ends the query.",
    "drift": "A field that nothing announced: `ignore` leaves it out; `infer` adds it as an "
    "attribute of all tuples, with the type of its first value: a whole number gives a `long`, another number a "
    "`double`, a list or an object its text as a `string`; a later value of another type is set aside (RQ301). "
    "`quarantine` sets its tuples aside (RQ306); `abort` ends the query.",
    "suspect": "`warn` reports jumps that look like a change of unit without an accent (RQ223); `warn by shop, sensor` "
    "groups tuples by these attributes. It changes no result.",
    "gaps": "Lost records of a topic (RQ446) or deleted rows of a Delta table (RQ438) end the query; `skip` continues "
    "after them.",
    "unknown_schema": "A record of a topic whose schema is not in the declared domain of its id is set aside (RQ520); "
    "`abort` ends the query; `import` states the changes of the schema as accents, as `cedilla import registry` does.",
    "bad_markers": "A bad marker ends the query; `quarantine` sets it aside and names each unit that stays (RQ235).",
    "changes": "Takes any change that a stream announces; `allow {+, unit(t), rename}` takes these kinds, `unit` only "
    "of `t`, and another accent ends the query (RQ570) until it is allowed.",
    "doubtful": "An accent for impossible values (RQ217), a repeated Alter (RQ218) or a jump under `suspect` (RQ223) "
    "gives a warning; `abort` looks for jumps too, and ends the query before any of these counts.",
    "longest_line": "The greatest size of a line of JSON or CSV, or of a record of a topic, as whole `KiB` or `MiB`: "
    "from 1 KiB to 256 MiB. A longer tuple is rejected (RQ301), a longer marker is malformed (RQ212). A run needs "
    "memory for a few such lines.",
}
"""Settings -> the effect of their values."""

SIZES = frozenset({"longest_line"})
"""Settings that are a number of bytes."""

CHANGES = "changes"
"""The setting that is a policy (`change_policy`)."""
COMPOSED = SIZES | {CHANGES}
"""Settings whose values are not single words."""

_BY = " by "
_SIZE = re.compile(r"([0-9]{1,9}) ?(KiB|MiB)")
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20}
SMALLEST, LARGEST = 1 << 10, 256 << 20


def size(text: str) -> int:
    """Returns the bytes of a checked size, `16 MiB`."""
    match = _SIZE.fullmatch(text)
    assert match is not None
    return int(match[1]) * _BYTES[match[2]]


def size_text(number: int) -> str:
    """Returns a number of whole KiB as a size."""
    return f"{number >> 10} KiB" if number % (1 << 20) else f"{number >> 20} MiB"


def as_stored(name: str, value: str) -> str:
    """Returns a valid value as plans contain it: `64MiB` is `64 MiB`, and `warn by a,b` is `warn by a, b`."""
    if name in SIZES:
        return _SIZE.sub(r"\1 \2", value)
    if name == CHANGES:
        return str(policy_of(value) or value)
    word, names = word_and_names(value)
    return f"{word}{_BY}{', '.join(names)}" if names else value


def word_and_names(value: str) -> tuple[str, tuple[str, ...]]:
    """Returns the word of a value, and the attributes after `by`: of `warn by shop, sensor` two."""
    word, _, names = value.partition(_BY)
    return word, tuple(name.strip() for name in names.split(",")) if names else ()


def grouping_fault(name: str, value: str) -> tuple[str, str] | None:
    """Returns message and hint for a value with groups that its setting does not take, else `None`."""
    word, names = word_and_names(value)
    if not names or (name, word) == ("suspect", "warn"):
        return None
    return f"`by` is for `suspect = warn`, found `{name} = {word}`", f"`set {name} = {word};`"


def value_fault(name: str, value: str) -> tuple[str, str] | None:
    """Returns message and hint for a value that is not a size, or not a policy, if its setting requires one."""
    if name in SIZES:
        return _size_fault(name, value)
    if name == CHANGES:
        return policy_fault(value)
    if policy_of(value) is not None:
        return f"`{name}` cannot be {value}", f"one of {', '.join(SETTINGS[name])}"
    return None


def _size_fault(name: str, value: str) -> tuple[str, str] | None:
    """Returns message and hint for a value that a size cannot have, `None` for a valid one."""
    example = f"`set {name} = {SETTINGS[name][0]};`"
    if _SIZE.fullmatch(value) is None:
        return f"`{value}` is not a size", f"a whole number of KiB or MiB, as in {example}"
    if not SMALLEST <= size(value) <= LARGEST:
        return (
            f"`{name}` cannot be {value}",
            f"from {size_text(SMALLEST)} to {size_text(LARGEST)}, as in {example}",
        )
    return None
