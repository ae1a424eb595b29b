"""Promises of punctuation, and the regions that a promise closes (theory 3.4; Tucker 2007, Li 2006).

A *scheme* is a set of attributes: for each combination of their values, a punctuation comes that names
exactly these attributes. For example, `punctuated on a, b` is the scheme {a, b}, `heartbeat ts` is {ts}, and a table,
closed by `*`, has the empty scheme. A scheme closes every region that distinguishes tuples by its attributes,
or by more; of two schemes the smaller promises more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from attrs import frozen

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.regions import ANYTHING, Domain, Level, ceiling

Scheme = frozenset[str]
Schemes = frozenset[Scheme]

ENDS: Schemes = frozenset({frozenset()})
"""The stream comes to an end: `[*]`, a table."""


@frozen(kw_only=True)
class Memory:
    """An item of state that an operator keeps until punctuation releases it (theory 1.3, Keep).

    `side`: the input that has to close it, by a scheme `within` those attributes.
    `ends`, `finite`: growth also stops if the input `ends` is closed for all values of attributes that are
    `finite` here.
    `one_per`: at most one entry exists per value of these attributes.
    `undefined`: kept tuples may have ⊥ in the scheme, which no punctuation closes.
    `accents`: accents wait for others, not tuples (theory D1).
    `counts`: no values of tuples are kept but those of keys.
    `output`: rows wait for the release, so without one they are never written.
    """

    what: str
    side: int = 0
    within: Scheme
    ends: int | None = None
    finite: Scheme = frozenset()
    one_per: Scheme | None = None
    undefined: bool = True
    accents: bool = False
    counts: bool = False
    output: bool = False


def least(schemes: Iterable[Scheme]) -> Schemes:
    """Returns the schemes without those that follow from smaller ones."""
    candidates = frozenset(schemes)
    return frozenset(s for s in candidates if not any(other < s for other in candidates))


def within(schemes: Schemes, names: Set[str]) -> Schemes:
    """Returns the schemes over some of the names only."""
    return frozenset(s for s in schemes if s <= names)


def both(left: Schemes, right: Schemes) -> Schemes:
    """Returns the promises of two streams together: a cell is closed if either stream closed its part."""
    return least(a | b for a in left for b in right)


def beyond(schemes: Schemes, others: Schemes) -> Schemes:
    """Returns the schemes, without that of the end, that do not follow from others."""
    return frozenset(s for s in schemes if s and not any(other <= s for other in others))


def renamed(schemes: Schemes, names: Mapping[str, str]) -> Schemes:
    """Renames the attributes of schemes; drops schemes over an attribute without a new name."""
    return frozenset(frozenset(names[n] for n in s) for s in schemes if s <= names.keys())


def without_finite(schemes: Schemes, facts: Facts) -> Schemes:
    """Removes attributes of finite domains from schemes, because all their values are closed sooner or later."""
    finite = {name for scheme in schemes for name in scheme if is_finite(name, facts)}
    return least(scheme - finite for scheme in schemes)


def folded(schemes: Schemes, facts: Facts, over: Scheme) -> Schemes:
    """Returns the promises for whole fibres over some attributes; attributes of finite domains are covered."""
    finite = {name for name in over if is_finite(name, facts)}
    return least(scheme - finite for scheme in schemes if not (scheme - finite) & over)


def folded_onto(kept: Scheme, facts: Facts, schemes: Schemes) -> Schemes:
    """Folds over all attributes except those that are kept (`folded`)."""
    return folded(schemes, facts, frozenset(facts.types) - kept)


def is_finite(name: str, facts: Facts) -> bool:
    """Returns True if an attribute takes finitely many values, and never ⊥."""
    domain: Domain = facts.universe.get(name, ANYTHING)
    members = domain.members
    if domain.listed:
        return not isinstance(members, Level) or not members.undefined
    if not isinstance(members, Level) or members.undefined:
        return False
    return all(
        not inside
        or (
            low is not None
            and high is not None
            and (low[0] == high[0] or (domain.integral and ceiling(low) <= ceiling(high)))
        )
        for low, high, inside in members.piece_bounds()
    )


def ordered(schemes: Schemes) -> list[Scheme]:
    """Returns the schemes with attributes, in one order."""
    return sorted((scheme for scheme in schemes if scheme), key=sorted)


def names(scheme: Iterable[str]) -> str:
    """Lists the attributes of a scheme for messages."""
    return ", ".join(sorted(scheme))
