"""A change of a query that runs on a checkpoint: what it is, and what it does to state and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import field, frozen

if TYPE_CHECKING:
    from cedilla.runtime.epochs.checkpoint.commits import Commit

Effect = Literal["at once", "continues", "continues after", "new checkpoint"]

EFFECTS: tuple[Effect, ...] = ("at once", "continues", "continues after", "new checkpoint")
"""From the mildest to the strongest: the query continues without confirmation; it continues with all state; it
continues, and some state or output begins again with a named epoch; it cannot continue."""


@frozen
class Change:
    """`where`: the source, operator or output; `what` has changed; `why` it has this effect."""

    effect: Effect
    where: str
    what: str
    why: str = ""


@frozen(eq=False)
class Changes:
    """All changes of a query. `epoch`: the first that the edited query computes; `commit`: the one that it continues
    from, unless a change needs a new checkpoint. The edit is an epoch of its own, without tuples, before that one."""

    epoch: int
    items: tuple[Change, ...] = field(converter=tuple)
    commit: Commit

    @property
    def effect(self) -> Effect:
        """The strongest effect of any change."""
        return EFFECTS[max((EFFECTS.index(item.effect) for item in self.items), default=0)]

    @property
    def goes_on_at_once(self) -> bool:
        """Returns True if the user has nothing to confirm."""
        return self.effect == "at once"
