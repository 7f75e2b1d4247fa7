"""The recipes: what differs between them first, then every key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from interlace.report import Section
from interlace.report._format import NOTHING, counted, joined
from interlace.report._run import first_of_each
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from interlace.report._run import Run

_IDENTITY = ("name", "about")  # differ by nature between recipes, and stand at the top of the page


def recipe(runs: Sequence[Run]) -> Section:
    """The section: a short table of the differing keys, the whole recipe in groups, and each as JSON to copy."""
    shown = [run for run in first_of_each(runs) if run.recipe]
    if not shown:
        return Section("Recipe", "No system was pre-trained here.", Markup(""))
    flat = [dict(_flat(run.recipe)) for run in shown]
    keys = _merged([list(one) for one in flat])
    rows = [_row(key, [one.get(key, NOTHING) for one in flat]) for key in keys if key not in _IDENTITY]
    differing = [row for row in rows if row["differs"]]
    body = render(
        "recipe",
        labels=[run.label for run in shown],
        differing=differing,
        groups=_groups(rows),
        sources=[(run.label, json.dumps(run.recipe, indent=2, ensure_ascii=False)) for run in shown],
    )
    return Section("Recipe", f"{_lead(len(shown), len(differing))}{_without(runs)}", body)


def _without(runs: Sequence[Run]) -> str:
    """Which systems have no recipe."""
    names = [run.label for run in first_of_each(runs) if not run.recipe]
    return f" {joined(names)} {'was' if len(names) == 1 else 'were'} not pre-trained here." if names else ""


def _row(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "values": values, "differs": len(set(values)) > 1}


def _lead(recipes: int, differing: int) -> str:
    if recipes == 1:
        return "Every setting of the run, defaults included."
    if not differing:
        return f"The {counted(recipes, 'recipe')} agree in every setting."
    head = f"{counted(differing, 'setting').capitalize()} {'differs' if differing == 1 else 'differ'}"
    return f"{head}, listed first; in the whole recipe below a dot marks what differs."


def _flat(data: Mapping[str, Any] | list[Any], path: str = "") -> Iterator[tuple[str, str]]:
    """(key path, value as text) of every leaf; members of a list go by their name where they have one."""
    parts: list[tuple[str, Any]]
    if isinstance(data, list):
        parts = [(str(item.get("name", index + 1)), _unnamed(item)) for index, item in enumerate(data)]
    else:
        parts = list(data.items())
    for key, value in parts:
        full = f"{path}.{key}" if path else str(key)
        nested = isinstance(value, dict) or (
            isinstance(value, list) and value and all(isinstance(x, dict) for x in value)
        )
        if nested and value:
            yield from _flat(value, full)
        else:
            yield full, _text(value)


def _unnamed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Without the name, which stands in the path already; kept where nothing else is there to show."""
    rest = {key: value for key, value in item.items() if key != "name"}
    return rest or dict(item)


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value not in ({}, "") else "none"


def _merged(lists: Sequence[list[str]]) -> list[str]:
    """One order for all keys: a key only one recipe has follows the one it follows there."""
    order: list[str] = []
    for keys in lists:
        place = 0
        for key in keys:
            if key in order:
                place = order.index(key) + 1
            else:
                order.insert(place, key)
                place += 1
    return order


def _groups(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows by the first part of their key; keys without parts go together under `run`."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        group, dot, rest = row["key"].partition(".")
        groups.setdefault(group if dot else "run", []).append({**row, "rest": rest if dot else group})
    return list(groups.items())
