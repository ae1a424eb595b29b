"""Random syntax trees of queries, accents and punctuations, and comments in their texts."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from attrs import evolve
from hypothesis import strategies as st

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.formatting.expression_formatter import (
    quote,
    unit_text,
)
from cedilla.grammar.syntax.change_policy import KINDS, ChangePolicy
from cedilla.grammar.syntax.connectives import Connective, connected, terms
from cedilla.grammar.syntax.operator_forms import FORMS, Form, Hole
from cedilla.grammar.syntax.settings import SETTINGS

SETTING_VALUES = [(name, value) for name, values in SETTINGS.items() for value in values]

HERE = Span("<made>", 0, 0, 1, 1, 1, 1)

NAMES = st.sampled_from(
    ["t", "größe", "a_1", "by", "every", "W", "table", "stream", "to", "from", "json", "distinct", "sample"]
)

SCHEMES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)

STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def make(kind: type[syntax.Node], *parts: st.SearchStrategy[object]) -> st.SearchStrategy[syntax.Node]:
    return st.tuples(*parts).map(lambda values: kind(*values, span=HERE))


def optional(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


def several(strategy: st.SearchStrategy[object], least: int = 1) -> st.SearchStrategy[object]:
    return st.lists(strategy, min_size=least, max_size=3).map(tuple)


def literal(value: object) -> syntax.Literal:
    match value:
        case bool():
            return syntax.Literal(value, str(value).lower(), span=HERE)
        case str():
            return syntax.Literal(value, quote(value), span=HERE)
        case int():
            return syntax.Literal(value, str(value), span=HERE)
        case _:
            return syntax.Literal(Fraction(str(value)), str(value), span=HERE)


DECIMALS = st.decimals(-10, 10, places=2)

POSITIVE = (st.integers(0, 99) | st.decimals(0, 10, places=2) | st.booleans() | STRINGS).map(literal)

UNITS = st.sampled_from(["degC", "unit", "km/h", "[degF]", "m**2"])


def measured(least: int) -> st.SearchStrategy[syntax.Literal]:
    return st.tuples(st.integers(least, 99), UNITS).map(
        lambda length: syntax.Literal(length[0], f"{length[0]} {unit_text(length[1])}", length[1], span=HERE)
    )


MEASURED, QUANTITIES = measured(0), measured(-99)

LITERALS = (st.integers(-9, 9) | DECIMALS | st.booleans() | STRINGS).map(literal)

SETS = make(syntax.SetPattern, several(LITERALS))

LOWER, UPPER = (optional(st.integers(*ends).map(literal)) for ends in ((-9, 0), (1, 9)))

RANGES = make(syntax.RangePattern, LOWER, UPPER, st.booleans(), st.booleans())

# A call reads its first word `distinct` as the keyword, so it has no attributes or relations of this name.
PLAIN_NAMES = NAMES.filter(lambda name: name != "distinct")

ATTRIBUTES = make(syntax.Attribute, PLAIN_NAMES, optional(PLAIN_NAMES))

OPERATORS = st.sampled_from(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">="])

CONNECTIVES: st.SearchStrategy[Connective] = st.sampled_from(["and", "or"])


def joined(of: tuple[Connective, list[syntax.Expression]]) -> syntax.Expression:
    return connected(of[0], terms(of[0], *of[1]))


EXPRESSIONS = st.recursive(
    ATTRIBUTES | POSITIVE | MEASURED,
    lambda inner: (
        make(syntax.Unary, st.sampled_from(["-", "not"]), inner)
        | make(syntax.Binary, OPERATORS, inner, inner)
        | st.tuples(CONNECTIVES, st.lists(inner, min_size=2, max_size=20)).map(joined)
        | make(syntax.InSet, inner, several(LITERALS), st.booleans())
        | make(syntax.InRange, inner, RANGES, st.booleans())
        | make(syntax.Scalar, st.sampled_from(["floor", "coalesce", "größe"]), several(inner, 0))
        | make(syntax.Case, several(make(syntax.Branch, inner, inner)), optional(inner))
    ),
    max_leaves=8,
)

VALUES = st.integers(0, 99).map(Fraction) | st.decimals(0, 10, places=3).map(Fraction)

MEASURES = make(syntax.Measure, VALUES, optional(st.sampled_from(syntax.UNITS)))

PERIODS = make(syntax.Measure, VALUES, optional(st.sampled_from((*syntax.UNITS, *syntax.CALENDAR_UNITS))))

PAIRS = make(syntax.JoinPair, ATTRIBUTES, ATTRIBUTES)

SAME = NAMES.map(lambda name: syntax.JoinPair(*[syntax.Attribute(name, span=HERE)] * 2, span=HERE))

CALLED = NAMES.map(str.lower)  # the case of a function's name does not matter: it is read as lower case

CALLS = (
    make(syntax.AggregateCall, CALLED, several(EXPRESSIONS, 0), NAMES, st.just(False), optional(EXPRESSIONS))
    | make(syntax.AggregateCall, CALLED, several(EXPRESSIONS), NAMES, st.just(True), optional(EXPRESSIONS))
    | make(syntax.AggregateCall, st.just(f"avg {syntax.WEIGHTED}"), EXPRESSIONS.map(lambda x: (x,)), NAMES)
    | make(syntax.AggregateCall, CALLED.map(lambda name: name + syntax.CARRIED), several(EXPRESSIONS), NAMES)
)

KEYS = several(make(syntax.SortKey, NAMES, st.booleans()))

COUNTS = st.integers(1, 99)

FILLED: dict[str, st.SearchStrategy[object]] = {
    "Expression": EXPRESSIONS,
    "int": COUNTS,
    "str": NAMES,
    "str | tuple[str, str]": NAMES | st.tuples(NAMES, NAMES),
    "Measure": MEASURES,
    "Period": PERIODS,
    "Rows | Measure | Ties": MEASURES | make(syntax.Rows, COUNTS) | make(syntax.Ties),
    "Text": STRINGS,
    "Literal": LITERALS,
    "tuple[str, ...]": SCHEMES,
    "tuple[SortKey, ...]": KEYS,
    "tuple[Renamed, ...]": several(make(syntax.Renamed, NAMES, NAMES)),
    "tuple[AggregateCall | ProjectItem, ...]": several(CALLS),
}
"""Type of a hole -> what fills it."""


def formed(form: Form, inner: st.SearchStrategy[syntax.Relation]) -> st.SearchStrategy[syntax.OneInput]:
    """An operator as one of its forms has it, with and without the parts that may be missing."""
    parts = {
        hole.field: FILLED[hole.type.removesuffix(" | None")]
        | (st.just(hole.missing) if is_optional else st.nothing())
        for group, is_optional in form.groups
        for hole in group
        if isinstance(hole, Hole)
    }
    missing = form.values([None] * len(form.holes))
    return st.builds(
        lambda values, input: form.node(**{**missing, **values, "input": input, "span": HERE}),
        st.fixed_dictionaries(parts),
        inner,
    )


RELATIONS = st.recursive(
    make(syntax.Reference, NAMES),
    lambda inner: (
        st.one_of([formed(form, inner) for form in FORMS.values() if form.node is not syntax.Project])
        | make(
            syntax.Project,
            several(
                make(syntax.ProjectItem, EXPRESSIONS, optional(NAMES))
                | make(syntax.ProjectItem, EXPRESSIONS, NAMES, UNITS)
            ),
            inner,
            st.booleans(),
        )
        | make(syntax.Project, st.just(()), inner, st.just(True), SCHEMES)
        | make(syntax.Union, inner, inner)
        | make(syntax.Intersect, inner, inner, st.booleans())
        | make(syntax.Minus, inner, inner, st.booleans())
        | make(
            syntax.Join,
            inner,
            inner,
            several(PAIRS | SAME),
            st.sampled_from(["inner", "left", "semi", "anti"]),
        )
        | make(syntax.Applied, st.sampled_from(["smooth", "größe"]), several(inner))
    ),
    max_leaves=4,
)

SIMPLE_TYPES = [name for name in syntax.TYPES if name != "decimal"]

TYPES = make(syntax.TypeName, st.sampled_from(SIMPLE_TYPES)) | make(
    syntax.TypeName, st.just("decimal"), st.tuples(st.integers(5, 38), st.integers(0, 5))
)

COLUMNS = make(syntax.TableColumn, NAMES, NAMES)

DECLARED = make(
    syntax.AttributeDeclaration,
    NAMES,
    TYPES | make(syntax.TypeName, st.just("array"), st.just(()), TYPES),
    st.booleans(),
    optional(SETS | RANGES | COLUMNS),
    optional(UNITS),
    st.none(),
    optional(st.sampled_from([",", ",."])),
    optional(UNITS),
)

STATEMENTS = (
    make(
        syntax.StreamDeclaration,
        st.sampled_from(["stream", "table"]),
        NAMES,
        several(DECLARED),
        NAMES,
        STRINGS,
        several(SCHEMES, 0),
        optional(make(syntax.Heartbeat, NAMES, MEASURES)),
        st.none(),
        optional(STRINGS),
        several(STRINGS, 0),
        optional(NAMES),
        st.booleans(),
    )
    | st.builds(
        lambda names, over: syntax.StreamDeclaration(
            "stream",
            "r",
            (syntax.AttributeDeclaration("a", syntax.TypeName("int", span=HERE), span=HERE),),
            "otlp",
            "r",
            metrics=tuple(names),
            over=tuple(pair for pair, is_over in zip(pairwise(names), over, strict=False) if is_over),
            span=HERE,
        ),
        st.lists(STRINGS, min_size=2, max_size=4, unique=True),
        st.lists(st.booleans(), min_size=3, max_size=3),
    )
    | make(
        syntax.StreamDeclaration,
        st.just("stream"),
        NAMES,
        several(DECLARED),
        st.just("kafka"),
        STRINGS,
        *(st.just(default) for default in ((), None, None, None, (), None, False, False, (), ())),
        optional(STRINGS),
        st.none(),
        several(make(syntax.Unfold, st.sampled_from(["element", "entry", "text"]), STRINGS), 0),
    )
    | make(
        syntax.StreamDeclaration,
        st.sampled_from(["stream", "table"]),
        NAMES,
        several(DECLARED),
        st.just("json"),
        STRINGS,
        *(st.just(default) for default in ((), None, None, None, (), None, False, False, (), (), None)),
        make(syntax.Changes, st.just("debezium"), st.just(()) | SCHEMES, optional(SCHEMES)),
    )
    | st.sampled_from(SETTING_VALUES).map(lambda setting: syntax.Setting(*setting, span=HERE))
    | st.dictionaries(st.sampled_from(KINDS), st.none() | SCHEMES.map(frozenset)).map(
        lambda kinds: syntax.Setting("changes", str(ChangePolicy(kinds)), span=HERE)
    )
    | make(
        syntax.OperatorDeclaration,
        NAMES,
        SCHEMES,
        st.just("module:function"),
        *(st.just(()) | SCHEMES for _ in range(3)),
        optional(several(DECLARED)),
    )
    | make(syntax.Let, st.just("named_by_no_other"), LITERALS)
    | make(syntax.UnitDefinition, NAMES | UNITS, optional(EXPRESSIONS))
    | make(syntax.Definition, NAMES, RELATIONS)
    | make(syntax.Emit, RELATIONS, NAMES, STRINGS, st.booleans(), st.just(()), st.just(()) | several(NAMES))
    | make(syntax.StatedAccent, NAMES, st.deferred(lambda: ACCENTS))
    | make(syntax.StatedFile, NAMES, STRINGS)
    | make(syntax.Use, STRINGS)
)

QUERIES = make(syntax.Query, several(STATEMENTS, 0))

COMPARISONS = make(
    syntax.Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), LITERALS | QUANTITIES
)

MEASURED_SETS = make(syntax.SetPattern, several(LITERALS | QUANTITIES))

CONDITIONS = make(syntax.Condition, NAMES, COMPARISONS | MEASURED_SETS | RANGES | make(syntax.Wildcard))

INVERSES = make(syntax.Inverse, NAMES, EXPRESSIONS)

PRIMITIVES = (
    make(syntax.AddAttribute, NAMES, TYPES, optional(UNITS))
    | make(syntax.DropAttribute, NAMES)
    | make(syntax.AlterAttribute, NAMES, NAMES, EXPRESSIONS, optional(INVERSES), optional(UNITS))
    | make(syntax.GrowDomain, NAMES, SETS)
    | make(syntax.SetUnit, NAMES, UNITS)
    | make(syntax.SetZone, NAMES, UNITS)
    | make(syntax.SetSign, NAMES, st.sampled_from([",", ".", ",."]))
    | make(syntax.RenameAttribute, NAMES, NAMES)
    | make(syntax.RecodeAttribute, NAMES, several(st.tuples(LITERALS, LITERALS)), st.booleans())
    | st.lists(NAMES, min_size=2, max_size=2, unique=True).map(
        lambda names: syntax.SwapAttributes(*names, span=HERE)
    )
    | make(syntax.MissingValues, NAMES, several(LITERALS, 0))
)


def change(primitive: syntax.Primitive, names: list[str]) -> tuple[syntax.Primitive, ...]:
    """The same change of several attributes, where it may be one."""
    if not isinstance(primitive, syntax.DropAttribute | syntax.AlterAttribute | syntax.SetUnit):
        return (primitive,)
    return tuple(evolve(primitive, name=name) for name in names)


CHANGES = st.builds(change, PRIMITIVES, st.lists(NAMES, min_size=1, max_size=3, unique=True))

ACCENTS = make(syntax.AccentText, several(CONDITIONS, 0), CHANGES)

PIECES = re.compile(
    r"""(\#[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\W\d]\w*|\d[\w.]*|:=|->|[<>!]=|[^\s\w()\[\]{},;#])"""
)
"""A comment, or a token: a string, a word, a number, a sign, but no bracket, comma or semicolon."""


def noted(text: str) -> list[tuple[str, int]]:
    """The comments of a text, each with the number of tokens before it."""
    result: list[tuple[str, int]] = []
    tokens = 0
    for match in PIECES.finditer(text):
        tokens += match[2] is not None
        if match[1]:
            result.append((match[1].rstrip(), tokens))
    return result


def commented(text: str, choices: list[tuple[int, bool]]) -> str:
    """A text with numbered comments behind some of its tokens, on their lines or on their own."""
    ends = [match.end() for match in PIECES.finditer(text)]
    places = sorted((ends[number % len(ends)], number, alone) for number, alone in choices) if ends else []
    position, parts = 0, list[str]()
    for count, (end, _, alone) in enumerate(places):
        parts += [text[position:end], f"{chr(10) if alone else ' '}# comment {count}\n"]
        position = end
    return "".join([*parts, text[position:]])
