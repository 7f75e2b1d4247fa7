"""Where the figures come from: versions, hardware, timings, and the commands that make them again."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import NOTHING, count, duration, joined
from interlace.report._run import first_of_each, shown_name
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._parts import Score
    from interlace.report._run import Run

_PLAIN = (
    "interlace",
    "python",
    "torch",
    "transformers",
    "platform",
    "processor",
    "cores",
    "threads",
    "device",
    "processes",
)


def provenance(runs: Sequence[Run]) -> Section:
    """The section: a row a fact, a column a recipe; equal values are written once."""
    shown = first_of_each(runs)
    names = ["checkpoint", *_PLAIN, "parameters", "tokens", "started", *_spent(shown), "rate"]
    rows = [(_heading(name), [_value(run, name) for run in shown]) for name in names]
    rows = [(name, values) for name, values in rows if any(value != NOTHING for value in values)]
    labels = [run.label for run in shown]
    shared = [(name, values[0]) for name, values in rows if len(set(values)) == 1]
    differing = [(name, values) for name, values in rows if len(set(values)) > 1]
    lead = "Versions, hardware and time, and the commands that make this page again."
    body = render("provenance", labels=labels, shared=shared, rows=differing, commands=_commands(runs))
    return Section("How it was made", lead, body)


def _spent(runs: Sequence[Run]) -> list[str]:
    return [f"seconds.{part}" for part in dict.fromkeys(part for run in runs for part in run.facts.seconds)]


def _heading(name: str) -> str:
    if name.startswith("seconds."):
        return f"time: {name.removeprefix('seconds.')}"
    return {"tokens": "subwords trained on", "rate": "training speed"}.get(name, name)


def _value(run: Run, name: str) -> str:
    facts = run.facts
    if name.startswith("seconds."):
        part = name.removeprefix("seconds.")
        return duration(facts.seconds[part]) if part in facts.seconds else NOTHING
    if name == "rate":
        spent = facts.seconds.get("training", 0.0)
        return f"{count(facts.tokens / spent)} subwords/s" if facts.tokens and spent else NOTHING
    if name == "checkpoint":
        return joined([model or "not known" for model in run.models]) or NOTHING
    value = facts.get(name)
    if value is None:
        return NOTHING
    if name in ("parameters", "tokens"):
        return count(value)
    return _moment(str(value)) if name == "started" else str(value)


def _moment(text: str) -> str:
    """A time stamp to read; as it stands where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment.day} {moment:%B %Y, %H:%M}{f' {moment:%Z}' if moment.tzinfo else ''}"


def _commands(runs: Sequence[Run]) -> list[str]:
    """What to type. Of an absolute path only the last part is shown: a page tells nothing of its author's disk."""
    folders = [Path(run.folder.name) if run.folder.is_absolute() else run.folder for run in runs]
    again = [Path("again", folder.name) for folder in folders]  # a finished run would not be run again where it is
    lines = []
    for run, found, folder in zip(runs, folders, again, strict=True):
        if run.recipe:
            lines.append(_command("pretrain", str(found / "recipe.json"), "--output", str(folder)))
            if run.scores:
                lines.append(_command("evaluate", str(folder), *_asked(run.scores)))
        else:
            lines += _of_checkpoint(run, found, folder)
    shown = [found if "" in run.models else new for run, found, new in zip(runs, folders, again, strict=True)]
    lines.append(_command("report", *map(str, shown), "--output", str(Path("again", "report.html"))))
    return lines


def _of_checkpoint(run: Run, found: Path, again: Path) -> list[str]:
    """What scores the checkpoint again; a remark where it is not known which one it was."""
    lines = []
    for model in run.models:
        if not model:
            lines.append(f"# {run.label}: which checkpoint was scored is not known")
            continue
        scored = [score for score in run.scores if shown_name(score.model) == model]
        how = ["--recipe", str(found / "evaluate.json"), *_asked(scored), "--output", str(again)]
        lines.append(_command("evaluate", model, *how))
    return lines


def _asked(scores: Sequence[Score]) -> list[str]:
    """Tasks and seeds of these scores, as options."""
    tasks = list(dict.fromkeys(score.task for score in scores))
    seeds = max(len({score.seed for score in scores if score.task == task}) for task in tasks)
    return ["--tasks", ",".join(tasks), "--seeds", str(seeds)]


def _command(*words: str) -> str:
    return " ".join(["interlace", *(shlex.quote(word) for word in words)])
