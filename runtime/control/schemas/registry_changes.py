"""States the changes between the versions of a subject of a registry as accents, by the ids of schemas.

A field that keeps its name, or has it as an alias later, is one attribute in all versions. An accent says how the
tuples of some schemas differ from the version whose names the query has (theory N10). Over 400 lines, as the command
and the runs that import schemas share one comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.registry import UnknownUnit
from cedilla.compiler.passes import plan_query
from cedilla.compiler.plan import Attribute, Plan, Source
from cedilla.compiler.plan.change_events import READ, clause
from cedilla.compiler.plan.field_paths import FieldPath, path_text
from cedilla.compiler.plan.record_fields import is_schema, origin_text
from cedilla.compiler.plan.topics import check_registry
from cedilla.compiler.regions.levels import Level
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import quote, unit_text
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_accent, parse_query
from cedilla.runtime.connectors.topics.registry import SchemaRegistry, SchemaVersion
from cedilla.runtime.control.markers.unannounced import is_name
from cedilla.runtime.control.schemas.changes import Changes, Chapter, Entry, Stated, Undecided
from cedilla.runtime.control.schemas.fields import SchemaField
from cedilla.runtime.control.schemas.schema_fields import KINDS, fields_in, is_of_events, paths_in

_COMPARED = "schemas of Avro, JSON and Protobuf are compared, those of a subject in one of them"
_WIDER = ("int", "long", "double")
"""Types of numbers; each contains the values of those before it."""


@frozen
class _Version:
    """A version with its fields. `owners`: the attribute that each field is of, as a number."""

    number: int
    id: int
    fields: Mapping[FieldPath, SchemaField]
    owners: Mapping[FieldPath, int]

    @property
    def name(self) -> str:
        """The name of the version for people."""
        return f"version {self.number}, schema {self.id}"

    def field_of(self, owner: int) -> SchemaField | None:
        """Returns the field of an attribute; `None` if tuples of this version have none."""
        return next((self.fields[path] for path, own in self.owners.items() if own == owner), None)


def versions_of(subject: str, address: str) -> list[SchemaVersion]:
    """Returns the versions of a subject. Raises `DiagnosticError`: RQ440 for a wrong address; as `SchemaRegistry`."""
    check_registry(address)
    return SchemaRegistry(address).versions(subject)


def are_of_events(versions: Sequence[SchemaVersion]) -> bool:
    """Returns True if the newest version is a schema of change events."""
    return bool(versions) and is_of_events(versions[-1].schema)


def import_subject(
    subject: str,
    versions: Sequence[SchemaVersion],
    registry: str,
    names_of: int | None = None,
    plan: Plan | None = None,
    of: str = "",
) -> Changes:
    """Returns the changes of a subject as accents.

    `names_of`: the version whose names the query has, the first by default. `plan` and `of`: the query and its stream;
    without them the head has a declaration. Raises `DiagnosticError` RQ510 if the subject lacks the version or
    has none that can be read, or the query does not read the ids of schemas.
    """
    read = _versions(subject, versions, None if plan is None else plan.source_of[of])
    base = _base(subject, read, names_of)
    if plan is not None and not any(map(is_schema, plan.source_of[of].attributes)):
        hint = 'declare it: `schema: int from record "schema"`'
        raise failure("RQ510", f"`{of}` does not read the ids of schemas", hint=hint)
    head = [
        f"Changes of `{subject}` by the ids of its schemas, from {registry}. The query has the names of {base.name}."
    ]
    head.append(
        "Each record is read by its own schema, so other decimals, dates and units of timestamps need no accent."
    )
    head.append("A schema that is registered later needs lines of its own: import the subject again.")
    if plan is None:
        stream = declaration_of(subject, versions, registry, names_of)
        of, plan = stream.name, stream.plan
        head += [
            *(f"  {line}" for line in stream.text.splitlines()),
            f'  accent {of} from file "changes.rqm";',
        ]
        head += stream.remarks
    declared = _Declared.of_source(base, read, plan.source_of[of])
    return Changes(tuple(head), tuple(_chapters(read, base, declared))).fitting(plan, of)


@frozen
class Declaration:
    """A stream that fits all versions of a subject. `base`: the version with its names. `units`: those of attributes.
    `remarks`: on what no attribute reads, and on change events."""

    name: str
    text: str
    base: str
    units: Mapping[str, str]
    remarks: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        """The plan of a query that emits the stream."""
        return plan_query(parse_query(f'{self.text}\nemit {self.name} to json "out";')).plan


def declaration_of(
    subject: str,
    versions: Sequence[SchemaVersion],
    registry: str,
    names_of: int | None = None,
    topic: str | None = None,
    keys: Sequence[SchemaVersion] = (),
) -> Declaration:
    """Returns the declaration of a stream of a subject.

    `names_of`: as that of `import_subject`. `topic`: its address, if it is known. `keys`: the versions of the subject
    of its keys, of change events. Raises `DiagnosticError` RQ510 as `import_subject` does.
    """
    read = _versions(subject, versions)
    base = _base(subject, read, names_of)
    declared = _Declared.of_versions(base, read)
    last = re.sub("-value$", "", subject) if topic is None else topic.rpartition("/")[2]
    name = re.sub(r"\W+", "_", last).strip("_") or "readings"
    name = name if is_name(name) and not name[0].isdigit() else f"r_{name}"
    text = declared.text(name, topic or f"host:9092/{name}", registry)
    remarks = [f"Not read: `{path_text(one.path)}` ({one.stored})." for one in declared.left_out]
    if are_of_events(versions):
        key = declared.named(paths_in(keys[-1].schema)) if keys else ()
        if not key:
            key = tuple(one.name for one in declared.own.values())[:1]
            remarks.append(
                "The registry has no key of the table in its columns, so the first one is a guess."
            )
        text = f"{text.removesuffix(';')} {clause(key)};"
        remarks.append(READ)
    text = format_query(parse_query(text))
    units_of = {own.name: own.unit for own in declared.own.values() if own.unit is not None}
    return Declaration(name, text, base.name, units_of, tuple(remarks))


def _base(subject: str, read: Sequence[_Version], names_of: int | None) -> _Version:
    """Returns the version whose names a query has. Raises `DiagnosticError` RQ510 if the subject lacks it."""
    base = next((one for one in read if one.number == (names_of or read[0].number)), None)
    if base is None:
        numbers = ", ".join(str(one.number) for one in read)
        raise failure("RQ510", f"`{subject}` has no version {names_of}", hint=f"versions: {numbers}")
    return base


def changes_of_schema(
    subject: str, versions: Sequence[SchemaVersion], id_: int, plan: Plan, source: Source
) -> tuple[Entry, ...]:
    """Returns the changes of one schema, and first its id in the domain of ids.

    Raises `DiagnosticError` RQ510 as `compared` does, and if the schema is not of the kind of the others.
    """
    comparison = compared(subject, versions, source)
    version = next((one for one in comparison.versions if one.id == id_), None)
    if version is None:
        raise failure("RQ510", f"the schema {id_} is not of the kind of the others", hint=_COMPARED)
    grown = Stated(f"[[grow({comparison.schema}, {{{id_}}})]]", version.name)
    chapter = Chapter(version.name, (grown, *version.entries))
    return tuple(Changes((), (chapter,)).fitting(plan, source.name).entries)


@frozen
class ComparedVersion:
    """A version of a subject. `entries`: how its tuples differ from what a query declares. In versions other than that
    with the names of the query, what that one leaves open is left out: the query has decided it."""

    name: str
    id: int
    entries: tuple[Entry, ...]


@frozen
class Comparison:
    """The versions of a subject, compared with a query. `schema`: its attribute of the id. `absent`: attributes that no
    version has, by name."""

    schema: str
    versions: tuple[ComparedVersion, ...]
    absent: tuple[str, ...]


def compared(subject: str, versions: Sequence[SchemaVersion], source: Source) -> Comparison:
    """Returns how the versions of a subject differ from what a query declares.

    The names of the query are those of the first version that its domain of ids lists, if it has one, and that no
    accent of it describes. Raises `DiagnosticError` RQ510 if the subject lacks one.
    """
    read = _versions(subject, versions, source)
    ids, described = listed_ids(source), described_ids(source)
    base = next((one for one in read if one.id not in described and (ids is None or one.id in ids)), None)
    if base is None:
        hint = "the domain lists the id of the schema whose names the query has"
        raise failure("RQ510", f"no version of `{subject}` has the names of the query", hint=hint)
    declared = _Declared.of_source(base, read, source)
    of_base = [*_Difference(base, read, base, declared).changes()]

    def entries(version: _Version) -> Iterator[Entry]:
        condition = _condition(declared.schema, [version.id])
        if version is base:
            yield from (_entry(change, condition) for change in of_base)
            return
        changes = _Difference(version, read, base, declared).changes()
        yield from (_entry(change, condition) for change in changes if change not in of_base)
        yield from _guesses(version, base, declared)

    own = {own.name for own in declared.own.values()}
    fields = (a.name for a in source.attributes if origin_text(a.keys) is None and not a.in_text)
    return Comparison(
        declared.schema,
        tuple(ComparedVersion(one.name, one.id, tuple(entries(one))) for one in read),
        tuple(name for name in fields if name not in own),
    )


def listed_ids(source: Source) -> frozenset[int] | None:
    """Returns the ids of schemas that the domain of a stream lists; `None` without such a domain."""
    attribute = next(filter(is_schema, source.attributes), None)
    if attribute is None or not attribute.has_list:
        return None
    listed = attribute.domain_members()
    assert isinstance(listed, Level)
    return frozenset(id_ for id_, is_in in listed.points.items() if is_in and isinstance(id_, int))


def described_ids(source: Source) -> frozenset[int]:
    """Returns the ids of the schemas that accents of a query describe, each as one value or in a list."""
    schema = next((a.name for a in source.attributes if is_schema(a)), None)
    conditions = (c for accent in source.accents for c in parse_accent(accent.text).description)
    return frozenset().union(*(_ids_in(c.pattern) for c in conditions if c.attribute == schema))


def _ids_in(pattern: patterns.Pattern) -> frozenset[int]:
    match pattern:
        case syntax.SetPattern(values):
            return frozenset(int(value.value) for value in values)
        case syntax.Comparison("=", value):
            return frozenset((int(value.value),))
        case _:
            return frozenset()


def _versions(
    subject: str, versions: Sequence[SchemaVersion], source: Source | None = None
) -> list[_Version]:
    """Returns the versions with the attribute of each field. `source`: the stream that reads them, if it is known.
    Raises `DiagnosticError` RQ510 without any."""
    of_rows = are_of_events(versions) if source is None else bool(source.changes)
    read: list[_Version] = []
    owners = _Owners()
    kind = next((version.schema.kind for version in versions if version.schema.kind in KINDS), "")
    for version in versions:
        if version.schema.kind == kind and version.id not in {one.id for one in read}:
            try:
                fields = fields_in(version.schema, of_rows=of_rows)
            except (ValueError, KeyError, TypeError) as problem:
                message = f"version {version.number} of `{subject}` cannot be read: {problem}"
                raise failure("RQ510", message, hint="the schema of a record") from None
            read.append(_Version(version.number, version.id, fields, owners.of(fields)))
    if not read:
        hint = f"a subject is usually `TOPIC-value`; {_COMPARED}"
        raise failure("RQ510", f"the registry has no schema of `{subject}` that can be read", hint=hint)
    return read


@define
class _Owners:
    """Numbers attributes, version by version. `last`: path -> the attribute that had it last."""

    last: dict[FieldPath, int] = field(factory=dict[FieldPath, int])
    _by_numbers: dict[tuple[int, ...], int] = field(factory=dict[tuple[int, ...], int])

    def of(self, fields: Mapping[FieldPath, SchemaField]) -> dict[FieldPath, int]:
        """Returns the attribute of each field of the next version."""
        if all(one.numbers for one in fields.values()):
            return {
                path: self._by_numbers.setdefault(one.numbers, len(self._by_numbers))
                for path, one in fields.items()
            }
        owners = {path: self.last[path] for path in fields if path in self.last}
        for path, one in fields.items():
            if path in owners:
                continue
            earlier = (self.last[before] for before in one.earlier if before in self.last)
            renamed = next((owner for owner in earlier if owner not in owners.values()), None)
            owners[path] = len({*self.last.values()}) if renamed is None else renamed
            self.last[path] = owners[path]
        return owners


# --- what the query reads ---


@frozen
class _Own:
    """An attribute of the query: its name, type and unit."""

    name: str
    type: str
    unit: str | None = None
    is_optional: bool = False


@frozen
class _Declared:
    """The attributes of a query by number, by their names in the base version. `schema`: that of the id."""

    schema: str
    own: Mapping[int, _Own]
    paths: Mapping[int, FieldPath]
    left_out: tuple[SchemaField, ...] = ()
    ids: tuple[int, ...] = ()

    @classmethod
    def of_source(cls, base: _Version, versions: Sequence[_Version], source: Source) -> _Declared:
        """Returns those of a query."""
        schema = next((a.name for a in source.attributes if is_schema(a)), "schema")
        by_path = {tuple(a.keys) or (a.name,): a for a in source.attributes}
        read: dict[int, tuple[FieldPath, Attribute]] = {}
        for version in (base, *versions):  # the query may read what only others have
            for path in version.fields:
                if path in by_path and by_path[path] not in (a for _, a in read.values()):
                    read.setdefault(version.owners[path], (path, by_path[path]))
        own = {number: _Own(a.name, _type(a.type), a.unit, a.optional) for number, (_, a) in read.items()}
        return cls(schema, own, {number: path for number, (path, _) in read.items()})

    @classmethod
    def of_versions(cls, base: _Version, versions: Sequence[_Version]) -> _Declared:
        """Returns a declaration that fits all versions: the widest types, and what may be undefined in some."""
        own: dict[int, _Own] = {}
        schema = "schema" if ("schema",) not in base.fields else "schema_id"
        names, left_out = {schema}, list[SchemaField]()
        for path, one in base.fields.items():
            number = base.owners[path]
            every = [other for v in versions if (other := v.field_of(number)) is not None]
            if not one.type:
                left_out.append(one)
                continue
            name = one.name if one.name not in names else "_".join(path)
            name = name if is_name(name) else f"{name}_"
            names.add(name)
            wide = max((other.type for other in every if other.type in _WIDER), key=_WIDER.index, default="")
            type_ = wide if one.type in _WIDER else one.type
            own[number] = _Own(name, type_, _unit_of(one), any(other.is_optional for other in every))
        paths = {number: path for path, number in base.owners.items() if number in own}
        return cls(schema, own, paths, tuple(left_out), tuple(version.id for version in versions))

    def named(self, paths: Iterable[FieldPath]) -> tuple[str, ...]:
        """Returns the attributes of some fields; none if one of them has no attribute."""
        names = {path: self.own[number].name for number, path in self.paths.items()}
        return tuple(names[path] for path in paths) if names.keys() >= {*paths} else ()

    def text(self, name: str, topic: str, registry: str) -> str:
        """Returns the declaration of a stream."""
        ids = ", ".join(map(str, sorted(self.ids)))
        attributes = [f'{self.schema}: int from record "schema" in {{{ids}}}']
        for number, one in self.own.items():
            origin = (
                "" if self.paths[number] == (one.name,) else f" from {quote(path_text(self.paths[number]))}"
            )
            attributes.append(
                f"{one.name}{'?' if one.is_optional else ''}: {one.type}{origin}{_unit(one.unit)}"
            )
        clauses = f"from kafka {quote(topic)} registry {quote(registry)}"
        return f"stream {name}({', '.join(attributes)}) {clauses};"


def _unit(unit: str | None) -> str:
    return "" if unit is None else f" unit {unit_text(unit)}"


def _unit_of(one: SchemaField) -> str | None:
    """Returns the unit of a field, if it is known here."""
    return one.unit if one.unit is not None and _is_unit(one.unit) else None


def _is_unit(name: str) -> bool:
    try:
        units.check(name)
    except UnknownUnit:
        return False
    return True


def _type(type_: Type) -> str:
    return f"list of {type_.element}" if type_.element is not None else str(type_)


# --- changes ---


@frozen
class _Change:
    """A change of some schemas: an accent, or a question. `says`: what says so, or a hint for the question.
    `is_needed`: as that of `Undecided`."""

    accent: str
    says: str
    question: str = ""
    is_needed: bool = True


def _chapters(versions: Sequence[_Version], base: _Version, declared: _Declared) -> Iterator[Chapter]:
    """Yields the changes of each version that no version before it has: with the ids of all that have them."""
    changes = {
        version.id: [*_Difference(version, versions, base, declared).changes()] for version in versions
    }
    earlier = set[_Change]()
    for version, before in zip(versions, (None, *versions), strict=False):
        entries: list[Entry] = []
        for change in changes[version.id]:
            if change not in earlier:
                earlier.add(change)
                ids = [other.id for other in versions if change in changes[other.id]]
                entries.append(_entry(change, _condition(declared.schema, ids)))
        if before is not None:
            entries += _guesses(version, before, declared)
        yield Chapter(version.name, tuple(entries))


def _condition(schema: str, ids: Sequence[int]) -> str:
    if len(ids) == 1:
        return f"{schema} = {ids[0]}"
    return f"{schema} in {{{', '.join(map(str, sorted(ids)))}}}"


def _entry(change: _Change, condition: str) -> Entry:
    if change.question:
        choices = (f"[[{condition}, {change.accent}]]",) if change.accent else ()
        question = f"{change.question} ({condition})"
        return Undecided(question, change.says, choices=choices, is_needed=change.is_needed)
    return Stated(f"[[{condition}, {change.accent}]]", change.says)


@frozen
class _Difference:
    """How the tuples of a version differ from what the query declares."""

    version: _Version
    versions: Sequence[_Version]
    base: _Version
    declared: _Declared

    def changes(self) -> Iterator[_Change]:
        """Yields the changes; those of values before the renames after which they have other names."""
        renames: list[_Change] = []
        for number, own in self.declared.own.items():
            before = self.declared.paths[number]
            one = self.version.field_of(number)
            if one is None:
                if self.base.field_of(number) is not None:
                    renames.append(_Change(f"-({own.name})", f"`{path_text(before)}` is gone"))
                continue
            yield from _of_values(own, one)
            yield from _of_symbols(own, one, self.base.field_of(number))
            renames += _renamed(own, one, before)
        yield from renames
        yield from self._added()

    def _added(self) -> Iterator[_Change]:
        """Yields the fields that the base version does not have, by the names with which they began."""
        for path, one in self.version.fields.items():
            number = self.version.owners[path]
            if number in self.base.owners.values() or number in self.declared.own:
                continue
            first = next(new for v in self.versions if (new := v.field_of(number)) is not None)
            if not one.type or one.type.startswith("list") or len(first.path) > 1 or not is_name(first.name):
                question = f"`{path_text(path)}` ({one.stored}) is new"
                yield _Change("", "an attribute of the query, if it is needed", question, is_needed=False)
                continue
            own = _Own(first.name, first.type, _unit_of(first), is_optional=True)
            yield _Change(f"+({own.name}: {own.type}{_unit(own.unit)})", f"`{path_text(first.path)}` is new")
            if own.unit is not None or one is first:
                yield from _of_values(own, one)
            yield from _renamed(own, one, first.path)


def _renamed(own: _Own, one: SchemaField, before: FieldPath) -> list[_Change]:
    if before == one.path:
        return []
    is_plain = len(one.path) == 1 and is_name(one.name)
    name = one.name if is_plain else quote(path_text(one.path))
    return [_Change(f"rename({name}, {own.name})", f"`{path_text(one.path)}` was `{path_text(before)}`")]


def _of_values(own: _Own, one: SchemaField) -> Iterator[_Change]:
    shown = path_text(one.path)
    if not _reads(own.type, one.type):
        hint = "a value that is not of its attribute's type is set aside (RQ301)"
        yield _Change("", hint, f"`{shown}` is of type {one.stored}, and `{own.name}` of {own.type}")
    if one.is_optional and not own.is_optional:
        question = f"`{shown}` may be null, and `{own.name}` is required"
        yield _Change("", f"`{own.name}?: {own.type}`", question, is_needed=False)
    if one.unit is None and own.unit is not None:
        yield _Change("", f"it is read in {own.unit}", f"`{shown}` has no unit, and `{own.name}` has one")
    elif one.unit is not None and not _is_unit(one.unit):
        yield _Change("", "another name of it", f"`{shown}` has a unit that is not known, {one.unit}")
    elif one.unit is not None and own.unit is None:
        hint = f"`{own.name}: {own.type}{_unit(one.unit)}`"
        yield _Change("", hint, f"`{shown}` has a unit, and `{own.name}` none")
    elif one.unit is not None and own.unit is not None and not units.is_same(own.unit, one.unit):
        yield _Change(f"unit({own.name}, {unit_text(one.unit)})", f"the unit of `{shown}` is {one.unit}")


def _of_symbols(own: _Own, one: SchemaField, was: SchemaField | None) -> Iterator[_Change]:
    """Yields a recode if values of an enum have other names for their codes. Without codes, it yields a question if
    values are gone: others may be their new names."""
    if was is None or not (was.symbols and one.symbols):
        return
    if one.codes:
        before, after = (dict(zip(of.codes, of.symbols, strict=True)) for of in (was, one))
        names = {old: after[code] for code, old in before.items() if after.get(code, old) != old}
        if names:
            pairs = ", ".join(f"{quote(old)}: {quote(name)}" for old, name in names.items())
            says = f"values of `{path_text(one.path)}` have other names for their numbers"
            yield _Change(f"recode({own.name}, {{{pairs}}}, else same)", says)
        return
    gone = [symbol for symbol in was.symbols if symbol not in one.symbols]
    new = [symbol for symbol in one.symbols if symbol not in was.symbols]
    if gone and new:
        pairs = ", ".join(f"{quote(old)}: {quote(name)}" for old, name in zip(gone, new, strict=False))
        question = f"`{path_text(one.path)}` no longer has {', '.join(gone)}, and has others"
        yield _Change(
            f"recode({own.name}, {{{pairs}}}, else same)", "new names of values are a recode", question
        )


def _reads(declared: str, type_: str) -> bool:
    """Returns whether an attribute of a type reads all values of another one."""
    if declared == type_ or (declared == "version" and type_ == "string"):
        return True
    if declared in _WIDER and type_ in _WIDER:
        return _WIDER.index(declared) >= _WIDER.index(type_)
    if not type_.startswith("decimal"):
        return False
    (digits, scale), of = _digits(type_), _digits(declared) if declared.startswith("decimal") else None
    return declared == "double" or (of is not None and of[1] >= scale and of[0] - of[1] >= digits - scale)


def _digits(decimal: str) -> tuple[int, int]:
    digits, scale = map(int, re.findall(r"[0-9]+", decimal))
    return digits, scale


def _guesses(version: _Version, before: _Version, declared: _Declared) -> Iterator[Entry]:
    """Yields a field that is gone with the new ones of its type: one may be its name without an alias."""
    gone = [before.fields[p] for p, n in before.owners.items() if n not in version.owners.values()]
    new = [version.fields[p] for p, n in version.owners.items() if n not in before.owners.values()]
    for one in gone:
        own = declared.own.get(before.owners[one.path])
        alike = [other for other in new if other.type == one.type and other.path[:-1] == one.path[:-1]]
        if own is None or not one.type or not alike:
            continue
        condition = _condition(declared.schema, [version.id])
        renames = [change for other in alike for change in _renamed(own, other, one.path)]
        names = " or ".join(f"`{path_text(other.path)}`" for other in alike)
        yield Undecided(
            f"`{path_text(one.path)}` is gone and {names} is new in schema {version.id}",
            "if this is its new name, the rename is in place of the Drop and the Add",
            choices=tuple(f"[[{condition}, {change.accent}]]" for change in renames),
        )
