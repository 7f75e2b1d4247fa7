"""How many fine-tunings collapsed, and how tables say so: a sign in the cell, a sentence in the caption."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

SIGN = "\N{DOUBLE DAGGER}"  # behind a score that rests on a collapsed fine-tuning


def has_collapsed(row: Mapping[str, Any]) -> bool:
    """Whether the fine-tuning of a score's row collapsed; a probe has none."""
    return bool((row.get("tuning") or {}).get("collapsed"))


def collapses(tuned: Iterable[tuple[Hashable, bool]]) -> tuple[int, int]:
    """How many fine-tunings collapsed, and of how many.

    tuned: a score each: which fine-tuning it is of, and whether that collapsed. A fine-tuning has a score a language,
    and counts once.
    """
    found: dict[Hashable, bool] = {}
    for which, collapsed in tuned:
        found[which] = found.get(which, False) or collapsed
    return sum(found.values()), len(found)


def collapses_told(collapsed: int, tuned: int) -> str:
    """What a caption says of `collapsed` fine-tunings out of `tuned`; "" where none collapsed."""
    if not collapsed:
        return ""
    return (
        f"{SIGN}: rests on a collapsed fine-tuning ({collapsed} of {tuned} here), whose model gives every example the "
        "same label, or knows no more of answers than where they usually stand."
    )
