"""Score against the size of the training text, where runs differ in it (as Yang et al. 2020, figure 5)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from interlace.report import Section
from interlace.report._format import count, heading, number
from interlace.report._scores import tables
from interlace.report._svg import apart, element, line, log_ticks, marker, path, picture, scale, text, text_width, ticks
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from interlace.report._run import Run

_WIDTH, _HEIGHT = 380.0, 230.0
_LEFT, _TOP, _BOTTOM = 40.0, 34.0, 30.0
_TYPE = 12.0
_MAY_DIFFER = {"name", "seed", "corpora", "data_root", "about", "published", "changes", "evaluate"}  # as text does
_MAY_DIFFER_IN = {"train": {"steps"}, "toy": {"sentences", "pairs"}}


@dataclass(frozen=True)
class _Point:
    """Mean score of the other languages at one size, with its range over runs and seeds."""

    size: float
    mean: float
    low: float
    high: float


def data_size(runs: Sequence[Run]) -> Section:
    """The section: a panel a task with a line a system: runs that differ in their text, length and seed alone."""
    sized = {run.folder: size for run in runs if (size := _size(run))}
    systems: dict[str, list[Run]] = {}
    for run in runs:
        if run.folder in sized:
            systems.setdefault(_system(run), []).append(run)
    varied = [found for found in systems.values() if len({sized[run.folder] for run in found}) > 1]
    figures = _figures(varied, {str(folder): size for folder, size in sized.items()}) if varied else []
    lead = (
        "Rows of training text run across, on a logarithmic scale; the score is the mean over the languages other than"
        " the source."
        if figures
        else "All runs of a system that was pre-trained here were trained on as much text."
        if sized
        else "No run tells on how much text it was trained."
    )
    return Section("Score by amount of text", lead, render("figures", figures=figures, note=""))


def _size(run: Run) -> int:
    """Rows of the text that objectives read: sentences, and pairs of them."""
    data: list[dict[str, Any]] = run.facts.get("data") or []
    named = _named(run)
    return sum(
        int(corpus.get("rows") or 0)
        for corpus in data
        if corpus.get("split") == "train" and (named is None or named & {corpus.get("group"), corpus.get("corpus")})
    )


def _named(run: Run) -> set[Any] | None:
    """Groups and corpora that objectives name; None where one of them reads all that it can."""
    objectives = run.recipe.get("objectives")
    entries = objectives.values() if isinstance(objectives, dict) else []
    named = [entry.get("corpora") if isinstance(entry, dict) else None for entry in entries]
    if not named or not all(named):
        return None
    # one side of a corpus of pairs is "en-de:en"
    return {part for names in named for name in names or () for part in (name, name.rpartition(":")[0]) if part}


def _system(run: Run) -> str:
    """What two runs that differ in nothing but their text, their length and their seed have in common."""
    kept = {key: value for key, value in run.recipe.items() if key not in _MAY_DIFFER}
    for section, keys in _MAY_DIFFER_IN.items():
        if isinstance(found := kept.get(section), dict):
            kept[section] = {key: value for key, value in found.items() if key not in keys}
    return json.dumps(kept, sort_keys=True)


def _figures(systems: Sequence[Sequence[Run]], sizes: dict[str, int]) -> list[dict[str, Any]]:
    found, labels = [], _labels(systems)
    for task, setting, metric in _kinds(systems):
        kind = (task, setting, metric)
        lines = [(label, _points(runs, sizes, kind)) for label, runs in zip(labels, systems, strict=True)]
        lines = [(label, points) for label, points in lines if len(points) > 1]
        if lines:
            title = f"{heading(task, setting)}, {metric}"
            found.append({"over": "", "picture": _drawn(title, lines)})
    return found


def _kinds(systems: Sequence[Sequence[Run]]) -> list[tuple[str, str, str]]:
    scores = [score for runs in systems for run in runs for score in run.scores]
    return list(dict.fromkeys((score.task, score.setting, score.metric) for score in scores))


def _labels(systems: Sequence[Sequence[Run]]) -> list[str]:
    """The systems' labels; those that share one tell what they start from."""
    labels = [_label(runs) for runs in systems]
    return [
        f"{label}, {_start(runs[0])}" if labels.count(label) > 1 else label
        for label, runs in zip(labels, systems, strict=True)
    ]


def _start(run: Run) -> str:
    """What a run started from: a checkpoint's folder, that of its run where it is called `model`."""
    model = run.recipe.get("model")
    start = str((model or {}).get("start") or "") if isinstance(model, dict) else ""
    parts = [part for part in start.split("/") if part]
    return "random" if not parts else parts[-2] if parts[-1] == "model" and len(parts) > 1 else parts[-1]


def _label(runs: Sequence[Run]) -> str:
    """The objectives' names; runs that differ in their text have labels of their own."""
    objectives = runs[0].recipe.get("objectives")
    return " + ".join(objectives) if isinstance(objectives, dict) else runs[0].label


def _points(runs: Sequence[Run], sizes: dict[str, int], kind: tuple[str, str, str]) -> list[_Point]:
    """By size: one value a run, the mean over seeds and languages."""
    values: dict[int, list[float]] = {}
    for run in runs:
        for table in tables([run]):
            others = [cell.mean for line in table.lines if not line.source for cell in line.cells.values() if cell]
            if (table.task, table.setting, table.metric) == kind and others:
                values.setdefault(sizes[str(run.folder)], []).append(fmean(others))
    return [_Point(size, fmean(each), min(each), max(each)) for size, each in sorted(values.items())]


def _drawn(title: str, lines: Sequence[tuple[str, list[_Point]]]) -> Markup:
    points = [point for _, found in lines for point in found]
    low, high = min(point.low for point in points), max(point.high for point in points)
    room = (high - low) * 0.08 or 1.0
    right = _WIDTH - max(text_width(label, _TYPE) for label, _ in lines) - 16
    across = scale(min(point.size for point in points), max(point.size for point in points), _LEFT + 8, right, log=True)
    up = scale(low - room, high + room, _HEIGHT - _BOTTOM, _TOP)
    parts = [text(0, 14, title, "title")]
    for value in ticks(low - room, high + room):
        parts += [
            line(_LEFT, up(value), right, up(value), "grid"),
            text(_LEFT - 6, up(value) + 4, number(value), "tick", "end"),
        ]
    sizes = sorted({point.size for point in points})
    for size in sizes if len(sizes) < 6 else log_ticks(sizes[0], sizes[-1]):
        parts.append(text(across(size), _HEIGHT - 10, count(size), "tick", "middle"))
    heights = apart([up(found[-1].mean) + 4 for _, found in lines], _TYPE + 2, _TOP, _HEIGHT - _BOTTOM)
    for style, ((label, found), height) in enumerate(zip(lines, heights, strict=True)):
        parts.append(path([(across(point.size), up(point.mean)) for point in found], style))
        for point in found:
            ends = {"x1": across(point.size), "x2": across(point.size), "y1": up(point.low), "y2": up(point.high)}
            parts.append(element("line", class_=f"whisker c{style % 8}", **ends))
            parts.append(
                marker(
                    across(point.size),
                    up(point.mean),
                    style,
                    f"{label}, {count(point.size)} rows: {number(point.mean)}",
                )
            )
        parts.append(element("text", label, x=right + 8, y=height, class_=f"name c{style % 8}"))
    spoken = "; ".join(
        f"{label} " + ", ".join(f"{number(p.mean)} with {count(p.size)} rows" for p in found) for label, found in lines
    )
    return picture(_WIDTH, _HEIGHT, f"{title} by rows of training text: {spoken}", parts, "dots")
