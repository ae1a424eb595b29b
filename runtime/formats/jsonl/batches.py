"""Lines of JSON to Arrow batches: a strict and fast parser is the gate; what it refuses goes line by line through the
code that `validate` uses, too.

The parser (`pyarrow.json`) takes a block at once or refuses all of it, so a refused block is halved until few lines are
left. Where the parser takes more than JSON is here (no line ends inside objects, two objects on a line, other words for
infinities, invalid UTF-8, decimals of too many digits), it is not asked or its answer is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.json
from attrs import frozen
from pyspark.sql import DataFrame

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines.arrow_types import arrow_type
from cedilla.runtime.engines.workers import in_workers
from cedilla.runtime.formats.jsonl.markers import markers_in
from cedilla.runtime.formats.lines.blocks import BLANK, Block, Places
from cedilla.runtime.formats.source import CORRUPT, quoted
from cedilla.runtime.items.json_objects import parse_line, read_strings, shown, word
from cedilla.runtime.items.rejections import NO_OBJECT, misfit
from cedilla.runtime.items.values import value_of_json

pc: Any = pyarrow.compute

_FEW = 16
"""Of so few lines that were refused together, each is read by itself."""


def tuple_lines(block: Block) -> tuple[Places, Places]:
    """Where the lines of a block that are no markers begin, and where they end."""
    starts, ends = block.lines()
    markers = [marker.begin for marker in markers_in(block) if marker.is_read]
    if not markers:
        return starts, ends
    kept = ~np.isin(starts, markers)
    return starts[kept], ends[kept]


@frozen
class JsonBatches:
    """Makes batches of the tuples in blocks: a column for each attribute; `$corrupt`, null or what is wrong with the
    line (RQ301); `$position`."""

    types: Mapping[str, Type]

    @property
    def schema(self) -> pa.Schema:
        """Of the batches."""
        fields = [(name, arrow_type(type_)) for name, type_ in self.types.items()]
        return pa.schema([*fields, (CORRUPT, pa.string()), (POSITION, pa.int64())])

    def batch(self, block: Block, place: int) -> pa.RecordBatch:
        """The tuples of a block; `place`: where its file begins in the slice."""
        starts, ends = tuple_lines(block)
        pieces = list(self._pieces(block.text, starts, ends)) if len(starts) else []
        columns = [
            pa.concat_arrays([piece[n] for piece in pieces]) if pieces else pa.array([], field.type)
            for n, field in enumerate(list(self.schema)[:-1])
        ]
        return pa.record_batch([*columns, pa.array(starts + (place + block.place))], schema=self.schema)

    def _pieces(self, text: bytes, starts: Places, ends: Places) -> Iterator[list[pa.Array]]:
        """The columns of some lines, those that are parsed together in one piece."""
        found = self._parsed(joined(text, starts, ends), len(starts))
        if found is not None:
            yield found
        elif len(starts) <= _FEW:
            yield self._read([text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        else:
            half = len(starts) // 2
            yield from self._pieces(text, starts[:half], ends[:half])
            yield from self._pieces(text, starts[half:], ends[half:])

    # --- all lines at once ---

    def _parsed(self, text: bytes, count: int) -> list[pa.Array] | None:
        """The columns of so many lines, each of which is one object; `None` where some may not be."""
        plain = plain_lines(text, count)
        if plain is None or not _is_utf8(plain) or _has_odd_words(plain):
            return None
        table = self._table(plain)
        if table is None or table.num_rows != count:
            return None
        corrupt: pa.Array = pa.nulls(count, pa.string())
        columns: list[pa.Array] = []
        for name, type_ in self.types.items():
            column = table.column(name).combine_chunks()
            if type_ == STRING and column.type != pa.string():
                column = column.cast(pa.string())
            elif type_.name in ("timestamp", "date"):
                moments = _moments(column, type_)
                if moments is None:
                    return None
                column = moments
            elif type_.name == "decimal" and not _fits(column):
                return None
            columns.append(column)
        return [*columns, corrupt]

    def _table(self, text: bytes) -> pa.Table | None:
        """What the parser makes of lines, `None` where it refuses them.

        A number or a truth value for a string is refused first; of a whole number the text is what it is written as.
        """
        numbers: set[str] = set()
        while True:
            try:
                table = read_json(
                    text,
                    {n: _parsed_as(t) for n, t in self.types.items() if n not in numbers},
                    infer=bool(numbers),
                )
            except pa.ArrowInvalid as problem:
                found = _NO_STRING.search(str(problem))
                if found is None or found[1] in numbers or self.types.get(found[1]) != STRING:
                    return None
                numbers.add(found[1])
                continue
            if any(
                name not in table.column_names or table.schema.field(name).type not in _AS_WRITTEN
                for name in numbers
            ):
                return None
            return None if numbers and _MINUS_ZERO.search(text) else table

    # --- line by line ---

    def _read(self, lines: list[bytes]) -> list[pa.Array]:
        values: dict[str, list[Any]] = {name: [] for name in self.types}
        corrupt: list[str | None] = []
        for line in lines:
            row, fault = self._row(line)
            corrupt.append(fault)
            for name, column in values.items():
                column.append(row.get(name))
        columns = [pa.array(values[name], arrow_type(type_)) for name, type_ in self.types.items()]
        return [*columns, pa.array(corrupt, pa.string())]

    def fault(self, line: bytes) -> str | None:
        """What is wrong with a line in words (RQ301), `None` where nothing is."""
        return self._row(line)[1]

    def _row(self, line: bytes) -> tuple[dict[str, Any], str | None]:
        """The values of a line, or what is wrong with it."""
        try:
            item = parse_line(line.decode().strip("\r"))
        except ValueError:
            return {}, NO_OBJECT
        texts = read_strings(item, self.types)
        row: dict[str, Any] = {}
        for name, type_ in self.types.items():
            try:
                row[name] = None if item.get(name) is None else _value(type_, texts[name])
            except ValueError:
                return {}, misfit(name, type_, shown(item, name))
        return row, None


def joined(text: bytes, starts: Places, ends: Places) -> bytes:
    """Some lines of a text."""
    if np.array_equal(ends[:-1] + 1, starts[1:]):
        return text[starts[0] : ends[-1]]
    return b"\n".join(text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True))


def plain_lines(text: bytes, count: int) -> bytes | None:
    """The same lines without blanks around them, if each begins with `{` and ends with `}`.

    Between a `}` and a `{` an object is over, so none goes on over the end of a line.
    """
    for plain in _written_plainly(text):
        if plain.startswith(b"{") and plain.endswith(b"}") and plain.count(b"}\n{") == count - 1:
            return plain
    return None


def _written_plainly(text: bytes) -> Iterator[bytes]:
    yield text
    text = text.replace(b"\r\n", b"\n").removesuffix(b"\r")
    yield text
    yield b"\n".join(line.strip(BLANK) for line in text.split(b"\n"))


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


_INFINITY = re.compile(rb"[:\[,][ \t]*-?Inf(?!inity)")


def _has_odd_words(text: bytes) -> bool:
    """Whether there may be words that only the parser takes for numbers."""
    if b"-NaN" in text:
        return True
    return text.count(b"Inf") != text.count(b"Infinity") and _INFINITY.search(text) is not None


_NO_STRING = re.compile(r"Column\(/(.*)\) changed from string to (?:number|boolean)")
"""How the parser says so; if it says it otherwise one day, such lines are read one by one."""
_AS_WRITTEN = (pa.int64(), pa.bool_())
_MINUS_ZERO = re.compile(rb"-0(?![.0-9eE])")


def read_json(text: bytes, types: Mapping[str, pa.DataType], *, infer: bool) -> pa.Table:
    """Lines of objects as a table of the fields that have a type; `infer`: of the others, too."""
    # Of the name's only sign no JSON text is made: the parser counts no rows without a column.
    schema = pa.schema([("\x01", pa.null()), *types.items()])
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    others = "infer" if infer else "ignore"
    parsing = pyarrow.json.ParseOptions(schema, unexpected_field_behavior=others)
    return pyarrow.json.read_json(pa.BufferReader(text), reading, parsing)


def _parsed_as(type_: Type) -> pa.DataType:
    """The parser takes more texts for moments than there are."""
    return pa.string() if type_.name in ("timestamp", "date") else arrow_type(type_)


def _fits(column: pa.Array) -> bool:
    """Whether all decimals have as many digits as their type, which the parser does not ask."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


_MOMENT = {
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$",
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
"""The usual form of a moment, of which a cast can tell whether it is one."""


def _moments(texts: pa.Array, type_: Type) -> pa.Array | None:
    """The timestamps or dates of texts; `None` where some are none."""
    kind = arrow_type(type_)
    is_usual = pc.match_substring_regex(texts, _MOMENT[type_.name])
    # The year 0 is none here.
    is_usual = pc.and_(is_usual, pc.invert(pc.starts_with(texts, "0000")))
    others = pc.and_(pc.is_valid(texts), pc.invert(is_usual))
    usual = pc.utf8_rtrim(pc.if_else(is_usual, texts, None), "Z")
    try:
        cast = usual.cast(pa.date32() if type_.name == "date" else pa.timestamp("us"))
        if not pc.any(others).as_py():
            return cast.cast(kind)
        number = pa.int32() if type_.name == "date" else pa.int64()
        values = cast.cast(number).to_pylist()
        for n in np.flatnonzero(others.fill_null(False).to_numpy(zero_copy_only=False)).tolist():
            values[n] = value_of_json(type_, texts[n].as_py())
        return pa.array(values, number).cast(kind)
    except (pa.ArrowInvalid, ValueError):
        return None


def _value(type_: Type, value: Any) -> Any:
    """A JSON value as Arrow takes it; `ValueError` where it is none of the type."""
    if type_.element is not None and isinstance(value, list):
        element = type_.element
        return [None if each is None else _value(element, each) for each in value]  # type: ignore[reportUnknownVariableType]
    read = value_of_json(type_, value)
    match type_.name:
        case "double":
            odd = word(value)
            return _double(value) if odd is None else odd
        case "decimal":
            number = Fraction(read)  # type: ignore[arg-type]
            return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
        case _:
            return read


_EXACT = Context(prec=80)


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf" if value > 0 else "-inf")


# --- rows that have a text -----------------------------------------------------------------------------------


def with_row_faults(lines: DataFrame, types: Mapping[str, Type]) -> DataFrame:
    """Rows that have their text in JSON as `raw`, and `fault`: what is wrong with a value, null where that is not what
    is wrong."""
    ddl = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in lines.schema.fields)
    return in_workers(lines, _RowFaults(JsonBatches(dict(types))), f"{ddl}, fault STRING")


@frozen
class _RowFaults:
    of: JsonBatches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue  # Spark would take it for the last one
            faults = [self.of.fault(text.encode()) for text in batch.column("raw").to_pylist()]
            yield batch.append_column("fault", pa.array(faults, pa.string()))
