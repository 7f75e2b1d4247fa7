"""The longest source that is read whole, by direction: what is asked for, before what a run has learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from interlace.core.errors import SettingsError, did_you_mean
from interlace.data.layout import SPECIALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Subwords = Annotated[int, Field(ge=8)]
Longest = Subwords | dict[str, Subwords] | None  # specials included; a number, or a table by direction


def with_learnt(asked: Longest, learnt: Mapping[str, int]) -> Longest:
    """What is asked for, and of directions that it does not name what was `learnt`, without specials."""
    if isinstance(asked, int):
        return asked
    return {direction: most + SPECIALS for direction, most in learnt.items()} | (asked or {})


def must_name(task: str, asked: Longest, directions: Iterable[str]) -> None:
    """Refuse limits of directions that nobody translates in.

    directions: those that are known; their ways back are too, for round trips.

    Raises:
        SettingsError: names the one that is unknown, and the nearest.
    """
    if not isinstance(asked, dict):
        return
    known = set()
    for source, _, target in (direction.partition("-") for direction in directions):
        known |= {f"{source}-{target}", f"{target}-{source}"}
    for direction in asked:
        if direction not in known:
            hint = did_you_mean(direction, known)
            raise SettingsError(f"{task}: max_length names {direction!r}, no direction here{hint}")


def without_specials(asked: Longest, direction: str) -> int | None:
    """For one direction; none: as the model has it."""
    most = asked.get(direction) if isinstance(asked, dict) else asked
    return None if most is None else most - SPECIALS
