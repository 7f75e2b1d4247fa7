"""How a dry run is shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlace.cli import notes, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.experiments.estimate import Estimate

_GB = 1e9


def show(found: Estimate, *, as_json: bool) -> None:
    """A line a fact on standard output, what is missing on standard error."""
    if as_json:
        output.print_json(json.dumps(found.dump()))
        return
    for name, fact in _facts(found):
        output.print(f"{name:<10} {fact}", highlight=False, soft_wrap=True)
    for note in found.notes:
        notes.print(f"note: {note}", highlight=False, soft_wrap=True)


def _facts(found: Estimate) -> Iterator[tuple[str, str]]:
    yield "recipe", found.recipe
    if found.text is None:
        yield "text", "the toy corpus, written when it is wanted"
    else:
        here = found.text.files - len(found.text.missing)
        yield "text", f"{here:,} of {found.text.files:,} files, {found.text.bytes / 1e6:,.2f} MB as they lie there"
    yield (
        "subwords",
        f"{found.subwords:,}: {found.steps:,} steps of {found.subwords_a_step:,}, padding included, on one process",
    )
    if (cost := found.cost) is None:
        return
    writes = f", {cost.decoder:,} in the decoder alone: it is a translation model" if cost.decoder else ""
    yield "model", f"{cost.parameters:,} parameters, {cost.table:,} of them in the table of subwords{writes}"
    yield "memory", f"{cost.memory / _GB:,.2f} GB: weights, gradients, two moments, and the states of a micro-batch"
    yield "speed", f"{cost.speed:,.0f} subwords/s, measured on {cost.device}"
    first = f", {cost.translating:.0%} of it to write what back-translation reads" if cost.translating else ""
    yield "time", f"{_duration(cost.hours)} for one process of this machine{first}; other further passes take longer"


def _duration(hours: float) -> str:
    if hours < 1 / 60:
        return f"{hours * 3600:,.0f} s"
    if hours < 2:
        return f"{hours * 60:,.0f} min"
    return f"{hours:,.0f} h" if hours < 100 else f"{hours / 24:,.0f} days"
