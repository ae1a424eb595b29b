"""Imports the schemas that a run meets and its query does not name: `set unknown_schema = import`."""

from __future__ import annotations

from typing import assert_never

from attrs import evolve, frozen

from cedilla.compiler.plan import Attribute, Plan, Source
from cedilla.compiler.plan.record_fields import is_schema
from cedilla.compiler.plan.topics import topic_of
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.topics.registry import SchemaRegistry
from cedilla.runtime.control.schemas.changes import Stated, Undecided
from cedilla.runtime.control.schemas.registry_changes import changes_of_schema, listed_ids


def importers(plan: Plan) -> dict[str, SchemaImporter]:
    """Returns those of the streams that import schemas, by source."""
    if plan.settings["unknown_schema"] != "import":
        return {}
    every = (
        (source, next(filter(is_schema, source.attributes), None), listed_ids(source))
        for source in plan.sources
    )
    return {
        # A new plan has computed nothing yet, so another process can get it.
        source.name: SchemaImporter(evolve(plan), source, attribute, ids)
        for source, attribute, ids in every
        if source.registry is not None and attribute is not None and ids is not None
        if attribute.type.name in ("int", "long")
    }


@frozen(eq=False)
class SchemaImporter:
    """States the changes of schemas for a stream. `attribute`: that of the id. `ids`: the schemas that the query
    names."""

    plan: Plan
    source: Source
    attribute: Attribute
    ids: frozenset[int]

    @property
    def query(self) -> str:
        """The texts of the query on which the accents depend."""
        accents = (accent.text for accent in self.source.accents)
        return "\n".join([*map(str, self.source.attributes), *accents])

    def accents(self, id_: int, registry: SchemaRegistry) -> tuple[str, ...]:
        """Returns the accents of a schema: its id in the domain, and its changes.

        Raises `DiagnosticError`: RQ505, and RQ522 if a person has to decide about one of them.
        """
        subjects = registry.subjects_of(id_)
        usual = f"{topic_of(self.source.path).name}-value"
        if usual not in subjects and len(subjects) != 1:
            hint = f"register it as a version of `{usual}`, or add the id and its accents to the query"
            several = f"several subjects, {', '.join(sorted(subjects))}" if subjects else "no subject"
            raise failure(
                "RQ522", f"the schema {id_} of stream `{self.source.name}` is of {several}", hint=hint
            )
        subject = usual if usual in subjects else subjects[0]
        hint = (
            f"`cedilla import registry {subject} --query QUERY -o FILE`, decide, and add the id to the domain of "
            f"`{self.attribute.name}`"
        )
        what = f"the changes of schema {id_} of `{subject}` are not known in full"
        versions = registry.versions(subject)
        try:
            entries = changes_of_schema(subject, versions, id_, self.plan, self.source)
        except DiagnosticError as error:
            raise failure("RQ522", f"{what}: {error.diagnostics[0].message}", hint=hint) from None
        accents: list[str] = []
        for entry in entries:
            match entry:
                case Stated():
                    accents.append(entry.text)
                case Undecided(is_needed=True):
                    raise failure("RQ522", f"{what}: {entry.why}", hint=hint)
                case Undecided():
                    pass
                case _:
                    assert_never(entry)
        return tuple(accents)
