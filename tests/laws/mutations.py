"""Mutations of invariants and accent rules: each must make a law fail (`make mutants`).

A mutation is a small wrong change of one line. `python -m tests.laws.mutations [NUMBER...]` tries them, all or
some: it copies the packages, changes the line and runs the laws; a mutation that no law notices is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from attrs import frozen

from tests.kit import ROOT

LAWS = (
    "tests/runtime/control/sources/test_control.py",
    "tests/laws/test_certain.py",
    "tests/laws/test_reference.py",
    "tests/laws/test_changes_together.py",
    "tests/laws/test_apart.py",
    "tests/compiler/facts/test_evolution.py",
    "tests/laws/test_renames.py",
    "tests/laws/test_recodes.py",
    "tests/laws/test_units.py",
    "tests/laws/test_said_units.py",
    "tests/laws/test_never_backwards.py",
    "tests/laws/test_progress.py",
    "tests/runtime/control/sinks/test_progress.py",
    "tests/runtime/control/markers/test_marker_runs.py",
    "tests/runtime/control/accents/test_added_again.py",
    "tests/runtime/control/accents/test_new_codes.py::test_what_was_a_code_once_can_be_a_value",
)


@frozen
class Mutation:
    """`old` is once in `file` and becomes `new`; `rule`: the rule that it breaks."""

    rule: str
    file: str
    old: str
    new: str


MUTATIONS = (
    Mutation(
        "D1 Add: present once any feeder is",
        "compiler/facts/facts.py",
        "PRESENT_IF_ANY = regions.lattice(max, neutral=ABSENT, absorbing=PRESENT)",
        "PRESENT_IF_ANY = regions.lattice(min, neutral=PRESENT, absorbing=ABSENT)",
    ),
    Mutation(
        "D1 Alter: common to all feeders",
        "compiler/facts/facts.py",
        "    return tuple(functions[number] for number in longest)",
        "    return max(a, b, key=len)",
    ),
    Mutation(
        "3.2 vacuity: closed feeders count as evolved",
        "compiler/facts/facts.py",
        "        return regions.union(self.closed, regions.complement(self.may_have(attribute)))",
        "        return regions.complement(self.may_have(attribute))",
    ),
    Mutation(
        "1.3 closed fibres: every value of the fibre",
        "compiler/facts/facts.py",
        "    return regions.forall(facts.closed, over, facts.universe)",
        "    return regions.exists(facts.closed, over, facts.universe)",
    ),
    Mutation(
        "G13 a Drop waits for the state",
        "compiler/facts/facts.py",
        "    return max(presence, LATENT)",
        "    return presence",
    ),
    Mutation(
        "1.1 the bottom value is part of every domain",
        "compiler/plan/sources.py",
        "            if attribute.optional or attribute.name in droppable:",
        "            if False:",
    ),
    Mutation(
        "1.3 Select closes what its predicate excludes, no more",
        "compiler/operators/select.py",
        "regions.complement(predicates.possible(self.predicate, types))",
        "predicates.possible(self.predicate, types)",
    ),
    Mutation(
        "1.3 Union closes what both inputs have closed",
        "compiler/operators/union.py",
        "    closed = regions.intersection(left.closed, right.closed)",
        "    closed = regions.union(left.closed, right.closed)",
    ),
    Mutation(
        "U4 an Alter waits for the other input",
        "compiler/operators/union.py",
        "            units[name] = regions.combine(a, b, COMMON_HISTORY)",
        "            units[name] = a",
    ),
    Mutation(
        "1.3 Join closes what both inputs have closed (J2)",
        "compiler/operators/join.py",
        "regions.intersection(*(self.output_of(s, inputs, inputs[s].closed) for s in (0, 1))),  # J2",
        "regions.union(*(self.output_of(s, inputs, inputs[s].closed) for s in (0, 1))),",
    ),
    Mutation(
        "1.3 Join, J1: a region stays open while one of its tuples is kept",
        "compiler/operators/shared/vacancies.py",
        "        return regions.difference(closed, regions.union(*map(self._at, points[:MOST])))",
        "        return closed",
    ),
    Mutation(
        "1.3 Join, J1: what is vacant is closed in the output",
        "compiler/operators/shared/base.py",
        "        if state.closed is False:",
        "        if state.closed is not None:",
    ),
    Mutation(
        "J1 an Alter of a join attribute waits for the other input",
        "compiler/operators/join.py",
        "            units[name] = regions.combine(a, b, COMMON_HISTORY)",
        "            units[name] = b",
    ),
    Mutation(
        "1.3 left join: a closed left tuple may still come alone",
        "compiler/operators/left_join.py",
        "        done = regions.intersection(self._closed(inputs, left.closed), self.purge(inputs)[0])",
        "        done = self._closed(inputs, left.closed)",
    ),
    Mutation(
        "1.3 semi and anti join: pending left tuples are not closed",
        "compiler/operators/join.py",
        "regions.intersection(left.closed, self.purge(inputs)[0]), self.still_vacant(inputs, state)",
        "left.closed, self.still_vacant(inputs, state)",
    ),
    Mutation(
        "1.3 Difference: p1 alone closes nothing",
        "compiler/operators/minus.py",
        "regions.intersection(left.closed, self.decided(inputs)), self.still_vacant(inputs, state)",
        "left.closed, self.still_vacant(inputs, state)",
    ),
    Mutation(
        "W5 windows: Drop and Alter take the inner image",
        "compiler/operators/window.py",
        "self._up(source.live_units(name), COMMON_HISTORY, NO_FEEDER, domain)",
        "self._up(source.live_units(name), PRESENT_IF_ANY, NO_FEEDER, domain)",
    ),
    Mutation(
        "1.3 a window closes once its whole extent is",
        "compiler/operators/window.py",
        "        return regions.complement(self._up(regions.complement(closed), UNION, False, domain, name))",
        "        return self._up(closed, UNION, False, domain, name)",
    ),
    Mutation(
        "G13 a closed cell has not lost its attributes",
        "compiler/facts/facts.py",
        "    partly = regions.difference(dead, regions.forall(dead, named, universe))",
        "    partly = dead",
    ),
    Mutation(
        "2.8 sum: an Alter with a shift is absorbed",
        "compiler/expressions/aggregates/aggregate_parts.py",
        "    return alter if alter.shift == 0 else None",
        "    return alter",
    ),
    Mutation(
        "2.8 variance: the square of the slope",
        "compiler/expressions/aggregates/aggregate_parts.py",
        "    return Affine(alter.slope**2, Fraction(0))",
        "    return Affine(alter.slope, Fraction(0))",
    ),
    Mutation(
        "G20 an affine value carries the Alter conjugated",
        "compiler/operators/project.py",
        "        return function.after(alter.after(inverse))",
        "        return function.after(alter)",
    ),
    Mutation(
        "E2, E4 sort passes what has only closed tuples before it",
        "compiler/operators/sort.py",
        "    value, after = bound\n    if not descending:",
        "    value, after = bound\n    if descending:",
    ),
    Mutation(
        "1.3 sort closes no tuple that waits",
        "compiler/operators/sort.py",
        "        passable = regions.intersection(source.closed, self.passable(source))",
        "        passable = source.closed",
    ),
    Mutation(
        "G22 a description speaks of raw values at its place",
        "runtime/control/markers/one_accent.py",
        "    where, places = state.canonical(accent.description), positions_after(position)",
        "    where, places = accent.description, positions_after(position)",
    ),
    Mutation(
        "P-alter a pattern closes canonical tuples",
        "runtime/control/sources/source_state.py",
        "        return self.canonical(self.sentinels.removed(punctuation.pattern))",
        "        return punctuation.pattern",
    ),
    Mutation(
        "N11 no value is written as a missing one",
        "runtime/control/markers/one_accent.py",
        "    check_apart(after, accent)",
        "    pass",
    ),
    Mutation(
        "R6, D0 the latest Alter is undone first",
        "compiler/regions/composition.py",
        '        return cast("ValueMapping", last).after(first)',
        '        return first.after(cast("ValueMapping", last))',
    ),
    Mutation(
        "3.3 punctuations are in the units of the tuples before them",
        "runtime/control/sinks/announce.py",
        "simple_boxes(translate(raw, before.scale), plain,",
        "simple_boxes(raw, plain,",
    ),
    Mutation(
        "G26 Add takes the outer image on the wire",
        "runtime/control/sinks/announce.py",
        "new, during, scale, nowhere, add, outer=True, always=always, without=announced_before",
        "new, during, scale, nowhere, add, outer=False, always=always, without=announced_before",
    ),
    Mutation(
        "D2 an Add says nothing of tuples beyond a domain that readers have",
        "runtime/control/sinks/announce.py",
        "always=always, without=announced_before",
        "always=always, without=False",
    ),
    Mutation(
        "D1 Alter: never backwards",
        "runtime/control/sinks/functions.py",
        "    return next_.scale if next_.latest.is_identity or next_.latest in earlier else next_.latest",
        "    return next_.latest",
    ),
    Mutation(
        "D2 an output follows the feeders that are left",
        "runtime/control/sinks/functions.py",
        "    return next_.scale if next_.latest.is_identity or next_.latest in earlier else next_.latest",
        "    return next_.scale",
    ),
    Mutation(
        "D2 a function that a cell has left is remembered",
        "runtime/control/sinks/functions.py",
        "    return announced and not scale.is_identity and scale",
        "    return False",
    ),
    Mutation(
        "D2 tuples with every value of the altered attribute feed a cell (G23)",
        "runtime/control/sinks/functions.py",
        "    if name not in regions.attributes(units):",
        "    if True:",
    ),
    Mutation(
        "D2 an Alter is announced where the attribute is",
        "runtime/control/sinks/announce.py",
        "            live = regions.difference(regions.intersection(cell, readers_have), dead)",
        "            live = regions.difference(cell, after.closed)",
    ),
    Mutation(
        "D2 windows are covered by the values that a domain has",
        "compiler/operators/window.py",
        "        elif (members := domain.possible(members, self.on)) is not False:",
        "        elif members:",
    ),
    Mutation(
        "D2 an input does not wait for one that cannot have its tuples",
        "compiler/operators/union.py",
        "            result = regions.union(result, regions.intersection(more, regions.defined(name)))",
        "            pass",
    ),
    Mutation(
        "D2 a closed region is written in the units that readers see",
        "runtime/control/sinks/announce.py",
        "plain, translate(free, before.scale))",
        "plain, free)",
    ),
    Mutation(
        "G23 what no description can say is not announced",
        "runtime/control/descriptions/boxes.py",
        "        return [mapped_into(part, raw, self.scale) for raw in described]",
        "        return [part] * len(described)",
    ),
    Mutation(
        "N2 a marker by another name speaks of the tuples that have it",
        "runtime/control/markers/source_marker_parser.py",
        "    description = regions.intersection(accent.description, by)\n",
        "    description = accent.description\n",
    ),
    Mutation(
        "N2, G32 an Add comes by its own name",
        "runtime/control/accents/names.py",
        "        return self._used(attribute, attribute, where, places) if attribute in self.here else self",
        "        return self",
    ),
    Mutation(
        "N2 only the tuples of a rename have its name",
        "runtime/control/accents/names.py",
        "        return evolve(self._used(rename.attribute, rename.name, where, places), of=of)",
        "        return evolve(self._used(rename.attribute, rename.name, True, places), of=of)",
    ),
    Mutation(
        "N3 recodes compose: of the values that both know",
        "compiler/regions/value_mapping.py",
        "return None if image is None else self.of(image)",
        "return None if image is None else self.map.get(image, image)",
    ),
    Mutation(
        "N11 a number that wraps around comes from two ranges",
        "compiler/regions/wrapped.py",
        "            (self.low, self._jump, Affine(1, after.shift + self.size)),",
        "            (self.low, self._jump, after),",
    ),
    Mutation(
        "N3 conditions on codes are translated",
        "compiler/regions/value_mapping.py",
        "        children = {after: node.at(before) for before, after in self.pairs}",
        "        children = {before: node.at(before) for before, after in self.pairs}",
    ),
    Mutation(
        "N3, G32 an Add begins with codes of its own",
        "runtime/control/sources/source_state.py",
        "        if attribute not in self.original:\n            return state\n",
        "        if attribute not in self.units:\n            return state\n",
    ),
    Mutation(
        "N1, N3 what is another value's code cannot come",
        "runtime/control/accents/new_codes.py",
        "and code.of(value) is None\n",
        "and code.of(value) is not None\n",
    ),
    Mutation(
        "N1, N3 a description includes later values in their written form",
        "compiler/regions/value_mapping.py",
        "Map({**own, **children})",
        "Map(children)",
    ),
    Mutation(
        "N4 a unit accent leads from the unit in force",
        "runtime/control/accents/unit_accents.py",
        "        function = after(change.function, undone)",
        "        function = change.function",
    ),
    Mutation(
        "N4 an Add in a unit leads there from the canonical one",
        "compiler/changes/add.py",
        "        return cls(node.name, type_, unit, converted(of, unit, node.span))",
        "        return cls(node.name, type_, unit)",
    ),
    Mutation(
        "N5 only the tuples that name a unit are in it",
        "runtime/control/accents/unit_accents.py",
        "            yield regions.values(attribute.unit_from[0], [short(unit)]), Alter(attribute.name, function)",
        "            yield True, Alter(attribute.name, function)",
    ),
    Mutation(
        "N6 an output with a unit of its own has no Alters",
        "compiler/operators/project.py",
        "        return self.absorb and name in self.items",
        "        return False",
    ),
    Mutation(
        "R2 accents of a run about the same value stay in their order",
        "runtime/control/markers/marker_groups.py",
        "        if parsed is None or self.last.get(value, -1) >= parsed.round:",
        "        if parsed is None:",
    ),
    Mutation(
        "R2 a run counts from its place on, tuple by tuple",
        "runtime/control/markers/marker_groups.py",
        "        positions.append(positions[-1] if is_next else marker.position)",
        "        positions.append(positions[-1] if positions else marker.position)",
    ),
    Mutation(
        "G22 what a run describes is not altered",
        "runtime/control/markers/marker_groups.py",
        "    if accent.mentions & otherwise or is_checked_alone or not _are_possible(state, step):",
        "    if is_checked_alone or not _are_possible(state, step):",
    ),
    Mutation(
        "G33 each accent of a run finds its attribute",
        "runtime/control/markers/marker_groups.py",
        "        isinstance(values, Level) and all(values.at(m.value) is True for m in step.members)",
        "        isinstance(values, Level)",
    ),
    Mutation(
        "N8 no accent of a run repeats another",
        "runtime/control/markers/marker_groups.py",
        "            if _is_repeated(state, name, functions, live) or",
        "            if False or",
    ),
    Mutation(
        "N4 the unit of an Alter is right for all described tuples",
        "runtime/control/sinks/announce.py",
        "    if len(before) != 1:",
        "    if not before:",
    ),
    Mutation(
        "N4 a unit that is not true is refused",
        "runtime/control/accents/trees.py",
        "        return function is not False and function != composed(wanted, undone)",
        "        return function is not False and function != wanted",
    ),
    Mutation(
        "G32 values that descriptions use do not start again",
        "runtime/control/markers/one_accent.py",
        "    check_added_again(state, accent, live)\n",
        "",
    ),
    Mutation(
        "G32 what was the code of none may tell others apart, too",
        "runtime/control/markers/added_again.py",
        "        *_dependent_on(name, translate(anew, raw), by_written(state, name), {name: state.universe[name]}),\n",
        "",
    ),
    Mutation(
        "N1 descriptions of codes say nothing of a new value that was another one's code",
        "runtime/control/accents/codes.py",
        "value for value in taken if value not in declared",
        "value for value in taken if value in declared",
    ),
)


def survives(mutation: Mutation) -> bool:
    """Returns True if the laws hold in spite of a mutation. Raises `RuntimeError` if they were not asked."""
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / ".links" / "cedilla", Path(folder) / "cedilla", ignore=ignored)
        path = Path(folder) / "cedilla" / mutation.file
        text = path.read_text(encoding="utf-8")
        assert text.count(mutation.old) == 1, f"{mutation.file} does not have once: {mutation.old}"
        path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        return all(_laws_hold(folder, marks) for marks in ("not soak and not rest", "rest"))


def _laws_hold(packages: str, marks: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-qxm", marks, "--no-header", "-p", "no:cacheprovider", *LAWS],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1", "SHRINK": "0"},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the laws did not run: {done.stdout[-2000:]}")
    return done.returncode == pytest.ExitCode.OK


def main(chosen: list[int]) -> int:
    """Try the mutations; how many survive."""
    survivors = 0
    for number, mutation in enumerate(MUTATIONS):
        if chosen and number not in chosen:
            continue
        alive = survives(mutation)
        survivors += alive
        print(f"{number:2} {'SURVIVES' if alive else 'noticed '}  {mutation.rule}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(min(1, main([int(argument) for argument in sys.argv[1:]])))
