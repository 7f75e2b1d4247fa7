"""Markdown for model cards."""

from __future__ import annotations

from html import escape
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; bars and line ends in cells are made harmless."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def code_block(language: str, *lines: str) -> str:
    """Fenced code."""
    return "\n".join([f"```{language}", *lines, "```"])


def whole(number: float) -> str:
    """`12,345`."""
    return f"{round(number):,}"


def plural(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def mean_and_spread(values: Sequence[float]) -> str:
    """`81.3 ± 0.4`, a value by itself, or nothing."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{mean(values):.4g} ± {stdev(values):.2g}"


def plain(data: Any) -> Any:
    """Text that somebody wrote, also inside lists and mappings, as it may stand in a card: no HTML, no end of code."""
    if isinstance(data, str):
        return escape(data, quote=False).replace("`", "'")
    if isinstance(data, dict):
        return {plain(key): plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list | tuple) else data


def leaf(value: Any) -> str:
    """A value to show; of a path only the last part, for cards tell nothing of a machine."""
    if isinstance(value, str):
        return str(plain(value.rstrip("/\\").replace("\\", "/").rpartition("/")[2]))
    if isinstance(value, list | tuple):
        return ", ".join(map(leaf, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """`a.b` and value of each leaf."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield plain(path), data


def _cell(value: Any) -> str:
    return " ".join(str(value).replace("|", "\\|").split())
