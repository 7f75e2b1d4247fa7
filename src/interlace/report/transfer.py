"""Transfer to derived languages: what it loses, zero-shot scores, and alignment (Tang et al. 2022, figures 2 and 3).

Figure 1 of the paper is of its method. What each objective loses over all changes, and zero-shot scores, are ours.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import number, task_name
from interlace.report._key_lines import LINE, below, key_lines
from interlace.report._svg import STYLES, element, line, marker, picture, scale, text, text_width, ticks
from interlace.report._templates import render
from interlace.report._transfer_points import points_of
from interlace.scores.statistics import spearman

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from markupsafe import Markup

    from interlace.report._run import Run
    from interlace.report._transfer_points import Point

_WIDTH, _RIGHT = 380.0, 366.0
_ROW, _TOP = 26.0, 40.0
_TYPE = 12.0
_DISC = 1  # the style whose mark is a filled circle
_LABEL = 11.0  # from the end of a bar that goes down to the foot of its number
_SMALL = 10.0  # below it a difference's first digit behind the point matters
_LEAST = 4  # points: of three, no order says anything


def transfer(runs: Sequence[Run]) -> Section:
    """The section; without scores of both kinds in a derived language, a sentence that says so."""
    points = points_of(runs)
    if not points:
        lead = "No run has supervised and zero-shot scores in a language that is made of another one."
        return Section("Transfer to derived languages", lead, render("figures", figures=[], note=""))
    tasks = list(dict.fromkeys(point.task for point in points))
    of_tasks = [[point for point in points if point.task == task] for task in tasks]
    changes = dict.fromkeys(point.change for point in points)
    pictures = [_differences(points, change) for change in changes]
    pictures += [_losses(some) for some in of_tasks]
    pictures += [_scores(points, change) for change in changes]
    pictures += [_scatter(aligned) for some in of_tasks if (aligned := [p for p in some if p.alignment is not None])]
    lead = (
        "Supervised scores are of models tuned on the derived language itself, zero-shot ones of models tuned on the"
        " language that it is made of; the difference is what transfer loses. Changes are named as in the paper: what"
        " is done last stands first."
    )
    figures = [{"over": "", "picture": drawn} for drawn in pictures]
    return Section("Transfer to derived languages", lead, render("figures", figures=figures, note=_note(of_tasks)))


def _note(of_tasks: Sequence[Sequence[Point]]) -> str:
    """How alignment goes with what is not lost; as in the paper, over all points."""
    told = []
    for points in of_tasks:
        known = [(point.alignment, -point.loss) for point in points if point.alignment is not None]
        if len(known) >= _LEAST and len({one for one, _ in known}) > 1 and len({other for _, other in known}) > 1:
            found = spearman(*zip(*known, strict=True))
            p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.2g}"
            told.append(f"{task_name(points[0].task)} {number(found.statistic, 2)} ({p}, {found.n} points)")
    if not told:
        return ""
    return (
        f"Spearman's correlation of alignment with what is not lost: {'; '.join(told)}. Points that share a change or"
        " an objective are not independent."
    )


def _styles(points: Sequence[Point], kind: Callable[[Point], str]) -> dict[str, int]:
    return {name: style for style, name in enumerate(dict.fromkeys(map(kind, points)))}


def _losses(points: Sequence[Point]) -> Markup:
    """What each objective loses in one task, a mark a change, with the range of its runs."""
    title = f"{task_name(points[0].task)}: what transfer loses"
    rows, styles = _styles(points, lambda point: point.objective), _styles(points, lambda point: point.change)
    left = 10 + max(text_width(row, _TYPE) for row in rows)
    values = [value for point in points for value in point.lost]
    low, high = min(0.0, *values), max(1.0, *values)
    across, bottom = scale(low, high, left, _RIGHT), _TOP + 20 + _ROW * len(rows)
    keys, more = key_lines(styles, 34, _WIDTH)
    parts: list[Markup] = []
    for value in ticks(low, high, 5):
        parts += [line(across(value), _TOP + 8, across(value), bottom - 8, "grid")]
        parts += [text(across(value), bottom + 8, number(value, 0), "tick", "middle")]
    for objective, row in rows.items():
        parts.append(text(0, _TOP + 24 + _ROW * row, objective, "row"))
    for point in points:
        y = _TOP + 20 + _ROW * rows[point.objective]
        ends = {"x1": across(min(point.lost)), "x2": across(max(point.lost)), "y1": y, "y2": y}
        parts.append(element("line", class_=f"whisker c{styles[point.change] % 8}", **ends))
        parts.append(marker(across(point.loss), y, styles[point.change], _told(point)))
    spoken = f"{title}: " + "; ".join(map(_told, points))
    whole = below([text(0, 14, title, "title"), *keys], parts, more)
    return picture(_WIDTH, bottom + 16 + more, spoken, whole, "dots")


def _differences(points: Sequence[Point], change: str) -> Markup:
    """Figure 2 of the paper: what is lost after one change; all changes on one scale, which may go below nothing."""
    losses = [point.loss for point in points]
    title = f"{change}: supervised minus zero-shot"
    return _bars(points, change, title, lambda point: point.loss, (min(0.0, *losses), max(1.0, *losses)))


def _scores(points: Sequence[Point], change: str) -> Markup:
    """Zero-shot scores after one change."""
    return _bars(points, change, f"{change}: zero-shot scores", lambda point: point.zero_shot, (0.0, 100.0))


def _bars(
    points: Sequence[Point], change: str, title: str, height: Callable[[Point], float], ends: tuple[float, float]
) -> Markup:
    """Bars of objectives side by side for each task, up or down from nothing."""
    styles = _styles(points, lambda point: point.objective)
    shown = [point for point in points if point.change == change]
    tasks = _styles(shown, lambda point: point.task)
    low, high = ends
    top, bottom = 56.0, 190.0 + (_LABEL if low < 0 else 0.0)
    up = scale(low, high, 190.0, top)
    keys, more = key_lines(styles, 34, _WIDTH, shape=_DISC)
    parts: list[Markup] = []
    for value in ticks(low, high, 4):
        parts.append(line(30, up(value), _RIGHT, up(value), "rule" if value == 0 else "grid"))
        parts.append(text(24, up(value) + 4, number(value, 0), "tick", "end"))
    group = (_RIGHT - 36) / len(tasks)
    wide = min(26.0, group * 0.9 / max(len(styles), 1))
    for task, place in tasks.items():
        middle = 36 + group * (place + 0.5)
        parts += [text(middle, bottom + 16 + 13 * row, name, "tick", "middle") for row, name in _rows(task, group)]
        for point in (one for one in shown if one.task == task):
            x = middle + (styles[point.objective] - len(styles) / 2) * wide
            value = height(point)
            size = {"x": x + 1, "y": up(max(value, 0.0)), "width": wide - 2, "height": abs(up(value) - up(0.0))}
            parts.append(element("rect", element("title", _told(point)), class_=_fill(styles, point), **size))
            beyond = up(value) + (_LABEL if value < 0 else -3)
            parts.append(text(x + wide / 2, beyond, _short(value, wide), "tick", "middle"))
    spoken = f"{title}: " + "; ".join(map(_told, shown))
    names = 24 + 13 * max(row for task in tasks for row, _ in _rows(task, group))
    whole = below([text(0, 14, title, "title"), *keys], parts, more)
    return picture(_WIDTH, bottom + names + more, spoken, whole, "dots")


def _rows(task: str, wide: float) -> Iterable[tuple[int, str]]:
    """The task's name in as many rows as its place is narrow."""
    return enumerate(wrap(task_name(task), int(wide / text_width("x", 11)), break_on_hyphens=False))


def _fill(styles: dict[str, int], point: Point) -> str:
    return f"c{styles[point.objective] % STYLES} full"


def _short(value: float, wide: float) -> str:
    """A number above a bar: a small one with a digit behind the point, where the bar is wide enough."""
    precise = number(value, 1)
    return precise if abs(value) < _SMALL and text_width(precise, 11) <= wide + 1 else number(value, 0)


def _scatter(points: Sequence[Point]) -> Markup:
    """Figure 3 of the paper: what is lost against alignment; colours are objectives, shapes are changes."""
    colours, shapes = _styles(points, lambda point: point.objective), _styles(points, lambda point: point.change)
    losses = [point.loss for point in points]
    low, high = min(0.0, *losses), max(1.0, *losses)
    room = (high - low) * 0.08
    across, up = scale(0.0, 100.0, 40.0, _RIGHT - 10), scale(low - room, high + room, 222.0, 62.0)
    named, more = key_lines(colours, 34, _WIDTH, shape=_DISC)
    changed, further = key_lines(shapes, 34 + LINE + more, _WIDTH, colour=0)
    keys = [text(0, 14, f"{task_name(points[0].task)}: loss by alignment (%)", "title"), *named, *changed]
    parts: list[Markup] = []
    for value in ticks(low, high, 4):
        parts += [line(40, up(value), _RIGHT, up(value), "grid")]
        parts += [text(34, up(value) + 4, number(value, 0), "tick", "end")]
    parts += [text(across(value), 238, value, "tick", "middle") for value in (0, 25, 50, 75, 100)]
    for point in points:
        x, y = across(point.alignment or 0.0), up(point.loss)
        parts.append(marker(x, y, shapes[point.change], _told(point), colour=colours[point.objective]))
    spoken = "Loss against alignment: " + "; ".join(map(_told, points))
    return picture(_WIDTH, 246 + more + further, spoken, below(keys, parts, more + further), "dots")


def _told(point: Point) -> str:
    aligned = "" if point.alignment is None else f", alignment {number(point.alignment)}"
    scores = f"supervised {number(point.supervised)}, zero-shot {number(point.zero_shot)}, lost {number(point.loss)}"
    return f"{point.objective}, {point.change}, {task_name(point.task)}: {scores}{aligned}"
