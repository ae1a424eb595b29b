"""Versions: the order of their keys, against the definition of Semantic Versioning in plain Python."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cedilla.compiler.expressions.types import VERSION, patterns
from cedilla.compiler.expressions.types.versions import key_of, text_of
from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.compiler.regions import contains
from tests.compiler.expressions.types.versions import random_version
from tests.kit.tiers import tiered


def rank(text: str) -> Any:
    """The definition: numbers, then pre-releases part by part before the release, then the text."""
    before_build = text.lstrip("vV").partition("+")[0]
    numbers, dash, pre_release = before_build.partition("-")
    parts = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre_release.split(".")]
    release = [int(number) for number in numbers.split(".")]
    return release + [0] * (8 - len(release)), (0, parts) if dash else (1, []), text


@pytest.mark.parametrize("seed", tiered(range(20)))
def test_keys_have_the_order_of_the_versions(seed: int) -> None:
    chance = Random(seed)
    versions = [random_version(chance) for _ in range(300)]
    assert sorted(versions, key=key_of) == sorted(versions, key=rank)
    assert [text_of(key_of(version)) for version in versions] == versions


PRE_RELEASES = "1.0.0-1 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1"


def test_the_order_is_that_of_the_standard() -> None:
    order = ["0.9", *PRE_RELEASES.split(), "1", "1.0.0", "v1.0", "1.9.0", "1.10.0", "2.0.0", "10.0.0"]
    assert sorted(set(order), key=key_of) == order


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1.",
        "1..2",
        "1.2 ",
        "1\n",
        "1.2rc1",
        "1-",
        "1-a..b",
        "1+",
        "1.2.3.4.5.6.7.8.9",
        "9" * 19,
        "١",
    ],
)
def test_other_texts_are_no_versions(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        key_of(text)


@pytest.mark.parametrize("seed", tiered(range(8)))
def test_a_region_has_the_versions_of_its_description(seed: int) -> None:
    """And so has the text that an output writes of it."""
    chance = Random(seed)
    low, high = sorted((random_version(chance) for _ in range(2)), key=rank)
    types = {"fw": VERSION}
    region = read_accent(f'[[fw in ["{low}", "{high}"), +(t: double)]]', types).description
    (text,) = (text for texts in patterns.texts({"fw": region}, types, outer=False) for text in texts)
    again = read_accent(f"[[{text}, +(t: double)]]", types).description
    for version in [low, high, *(random_version(chance) for _ in range(100))]:
        expected = rank(low) <= rank(version) < rank(high)
        assert [contains(of, {"fw": key_of(version)}) for of in (region, again)] == [expected] * 2, version
