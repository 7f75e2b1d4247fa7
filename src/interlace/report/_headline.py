"""The first sentences of the page, computed from the scores: what is best where, by how much, and how sure that is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.report._cells import tested, unit_between
from interlace.report._format import BLEU, counted, joined, language_name, number, task_in_text
from interlace.report._run import first_of_each
from interlace.scores.statistics import ALPHA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._cells import Cell
    from interlace.report._run import Run
    from interlace.report._scores import Line, TaskTable

_MOST = 3  # tasks named in the summary; the tables hold all


def title(results: Sequence[TaskTable]) -> str:
    """What the page is about."""
    if results and all(table.unit == BLEU for table in results):
        return "Translation"
    sources = list(dict.fromkeys(language_name(table.source) for table in results if table.tuned))
    if sources:
        return f"Zero-shot transfer from {joined(sources)}"
    return "Probes of cross-lingual models" if results else "Cross-lingual pre-training"


def summary(runs: Sequence[Run], results: Sequence[TaskTable]) -> str:
    """One sentence on the mean over the languages that were not trained on."""
    hearts = [(table, line) for table in results if (line := _heart(table)) is not None]
    named = [pair for pair in hearts if _place(*pair) == _place(*hearts[0])][:_MOST]
    if not named:
        return _without_means(runs, results)
    where = _where(named)
    verdicts = [_verdict(table, line) for table, line in named]
    sides = {(verdict.best, verdict.second) for verdict in verdicts}
    if len(sides) == 1 and len(verdicts) > 1 and all(verdict.clear for verdict in verdicts):
        best, second = sides.pop()
        return f"{where}, {best} is ahead of {second} on {_scope(named, results)}: {joined([v.gap for v in verdicts])}."
    if len(sides) == 1 and not verdicts[0].second:
        return f"{where}, {verdicts[0].best} reaches {joined([verdict.gap for verdict in verdicts])}."
    return f"{where}, {joined([verdict.whole for verdict in verdicts])}."


def _without_means(runs: Sequence[Run], results: Sequence[TaskTable]) -> str:
    """What the page holds, where no figure sums up what was scored."""
    names = joined([run.label for run in first_of_each(runs)])
    if results:
        follow = f"{counted(len(results), 'table')} of scores {'follows' if len(results) == 1 else 'follow'}"
        return f"{names}: {follow}, without a mean over several languages that all systems share."
    trained = list(dict.fromkeys(run.label for run in runs if run.recipe))
    recorded = f"pre-training of {joined(trained)} is recorded below; " if trained else ""
    return f"{names}: {recorded}no task has been scored yet."


def _scope(named: Sequence[tuple[TaskTable, Line]], results: Sequence[TaskTable]) -> str:
    if len(named) < len(results):
        first = "the first " if [table for table, _ in named] == list(results[: len(named)]) else ""
        return f"{first}{counted(len(named), 'task')} of {len(results)}"
    return "both tasks" if len(named) == 2 else f"all {counted(len(named), 'task')}"


def _heart(table: TaskTable) -> Line | None:
    """The line a summary speaks of: the mean of the other languages, else the only other language."""
    others = [line for line in table.lines if not line.source]
    line = table.mean or (others[0] if len(others) == 1 else None)
    return line if line is not None and any(line.cells.values()) else None


def _place(table: TaskTable, line: Line) -> tuple[str, ...]:
    """Which languages a line is of; one sentence speaks of the same ones throughout."""
    return (line.language,) if line.language else (table.source, *sorted(table.averaged))


def _where(named: Sequence[tuple[TaskTable, Line]]) -> str:
    """Over which languages, said once."""
    table, line = named[0]
    if table.unit == BLEU and not line.language:
        return f"Averaged over {counted(len(table.averaged), 'direction')}"
    if line.language:
        return f"In {language_name(line.language)}"
    return f"Averaged over {counted(len(table.averaged), 'language')} other than {language_name(table.source)}"


@dataclass(frozen=True)
class _Verdict:
    """Who leads on one task, and whether a permutation test says so.

    `gap` follows `X is ahead of Y on both tasks:` (or `X reaches`), `whole` stands alone.
    """

    best: str
    second: str
    clear: bool
    gap: str
    whole: str


def _verdict(table: TaskTable, line: Line) -> _Verdict:
    task, unit = task_in_text(table.task), _unit(table)
    cells = {recipe: cell for recipe, cell in line.cells.items() if cell is not None}
    order = sorted(cells, key=lambda recipe: cells[recipe].mean, reverse=table.greater_is_better)
    best, second = order[0], order[1] if len(order) > 1 else ""
    if not second:
        reached = _alone(table, best, cells[best])
        return _Verdict(best, "", False, reached, f"{best} reaches {reached}")
    figures = f"{number(cells[best].mean)}{unit} against {number(cells[second].mean)}{unit}"
    difference = abs(cells[best].mean - cells[second].mean)
    gap = f"by {number(difference)}{' points' if table.unit == '%' else unit} on {task} ({figures})"
    if number(cells[best].mean) == number(cells[second].mean):
        whole = f"{best} and {second} are level on {task} ({number(cells[best].mean)}{unit})"
        return _Verdict(best, second, False, gap, whole)
    among = tested(cells, best)
    found, unit = among.get(second), unit_between(cells[best], cells[second])
    if found is None:
        few = f"which one {unit} cannot tell from luck"
        return _Verdict(best, second, False, gap, f"{best} is above {second} {gap}, {few}")
    corrected = " after Holm" if len(among) > 1 else ""
    if found.min_p >= ALPHA:
        few = f"which so few {unit}s cannot tell from luck (p = {found.p:.2g}{corrected})"
        return _Verdict(best, second, False, gap, f"{best} is above {second} {gap}, {few}")
    if found.p >= ALPHA:
        p = f"p = {found.p:.2g} over {unit}s{corrected}"
        return _Verdict(
            best, second, False, gap, f"{best} and {second} cannot be told apart on {task} ({figures}; {p})"
        )
    return _Verdict(best, second, True, gap, f"{best} is ahead of {second} {gap}")


def _alone(table: TaskTable, recipe: str, cell: Cell) -> str:
    source = next((line.cells[recipe] for line in table.lines if line.source), None)
    unit = _unit(table)
    beside = f" ({language_name(table.source)}: {number(source.mean)}{unit})" if source else ""
    return f"{number(cell.mean)}{unit} on {task_in_text(table.task)}{beside}"


def _unit(table: TaskTable) -> str:
    return "\N{NARROW NO-BREAK SPACE}%" if table.unit == "%" else f" {table.unit}" if table.unit else ""


def caution(runs: Sequence[Run], results: Sequence[TaskTable]) -> str:
    """How far the summary can be trusted: which runs are not finished, and how many seeds there are, of what."""
    return " ".join(part for part in (_unfinished(runs), _seeds(runs, results)) if part)


def _unfinished(runs: Sequence[Run]) -> str:
    """A folder of scores alone has nothing to finish."""
    names = [run.folder.name for run in runs if run.recipe and not run.facts.get("finished")]
    if not names:
        return ""
    return f"The training of {joined(names)} was not finished when this page was written."


def _seeds(runs: Sequence[Run], results: Sequence[TaskTable]) -> str:
    cells = [cell for table in results if (line := _heart(table)) for cell in line.cells.values() if cell]
    if not cells:
        return ""
    fewest, most = min(cell.seeds for cell in cells), max(cell.seeds for cell in cells)
    if most == 1:
        return "Each figure is a single measurement without a spread; other seeds may order the recipes differently."
    single = " where a range of seeds is given, and a single measurement elsewhere" if fewest == 1 else ""
    text = f"Each figure is the mean of {'up to ' if fewest < most else ''}{counted(most, 'seed')}{single}."
    times = Counter(run.label for run in runs)
    once = [label for label, count in times.items() if count == 1]
    if not once:
        return text
    luck = "so part of a difference may be the luck of one pre-training."
    if len(once) < len(times):
        return f"{text} {joined(once)} {'was' if len(once) == 1 else 'were'} pre-trained once, {luck}"
    return f"{text} The seeds vary fine-tuning only: " + (
        f"a recipe was pre-trained once, {luck}" if len(once) > 1 else "pre-training was done once."
    )
