"""Versions, hardware, and the commands that reproduce the page."""

import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from interlace.report.runs import ReportedRun, first_of_each, shown_model
from interlace.report.section import Section
from interlace.report.tables import facts_table
from interlace.report.text import MISSING, duration, render
from interlace.scores import ScoreTable
from interlace.training.run_folder import EVALUATION, RECIPE

_FACTS = (
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


def reproduction(runs: Sequence[ReportedRun]) -> list[Section]:
    """Return the section `Reproduction`."""
    columns = first_of_each(runs)
    facts = [_facts(run) for run in columns]
    names = dict.fromkeys(chain.from_iterable(facts))
    shared = {}
    differing = {}
    for name in names:
        values = [run_facts.get(name, MISSING) for run_facts in facts]
        if len(set(values)) == 1:
            shared[name] = values[0]
        else:
            differing[name] = values
    table = facts_table("Versions and timings", [run.label for run in columns], differing)
    body = render("reproduction", shared=shared, table=table, commands=_commands(runs))
    lead = "Versions, hardware, and commands that reproduce this page."
    return [Section("Reproduction", lead, body, folded=True)]


def _facts(run: ReportedRun) -> dict[str, str]:
    """Return what is known of a run by name."""
    facts = {}
    if run.models:
        facts["checkpoint"] = ", ".join(model or "unknown" for model in run.models)
    for name in _FACTS:
        if run.facts.get(name) is not None:
            facts[name] = str(run.facts[name])
    for row in run.facts.get("data") or []:
        subwords = row.get("derived")
        if subwords:
            shares = (
                "{shared:.1f} % shared with the original, {cut_alike:.1f} % tokenized alike".format(
                    **subwords
                )
            )
            facts[f"subwords of {row['languages'][0]}"] = shares
    for part, seconds in run.facts.get("seconds", {}).items():
        facts[f"time: {part}"] = duration(seconds)
    return facts


def _commands(runs: Sequence[ReportedRun]) -> list[str]:
    """Return the commands, with absolute paths reduced to their last part."""
    commands = []
    folders = []
    for run in runs:
        folder = Path(run.folder.name) if run.folder.is_absolute() else run.folder
        output = Path("again", folder.name)  # a finished run would not run again in its own folder
        folders.append(str(folder if "" in run.models else output))
        if run.recipe:
            commands += _run_commands(run, folder, output)
        else:
            commands += [_checkpoint_command(run, model, folder, output) for model in run.models]
    commands.append(_command("report", *folders, "--output", str(Path("again", "report.html"))))
    return commands


def _run_commands(run: ReportedRun, folder: Path, output: Path) -> list[str]:
    """Return the commands that pre-train a run and evaluate it."""
    commands = [_command("pretrain", str(folder / RECIPE), "--output", str(output))]
    if run.scores:
        recipe = []
        if (run.folder / EVALUATION).is_file():
            recipe = ["--recipe", str(folder / EVALUATION)]
        commands.append(_command("evaluate", str(output), *recipe, *_tasks_and_seeds(run.scores)))
    return commands


def _checkpoint_command(run: ReportedRun, model: str, folder: Path, output: Path) -> str:
    """Return the command that evaluates a checkpoint."""
    if not model:
        return f"# {run.label}: unknown checkpoint"
    scores = run.scores.filter(lambda row: shown_model(row.model) == model)
    recipe = ["--recipe", str(folder / EVALUATION)]
    return _command("evaluate", model, *recipe, *_tasks_and_seeds(scores), "--output", str(output))


def _command(*words: str) -> str:
    return " ".join(["interlace", *map(shlex.quote, words)])


def _tasks_and_seeds(scores: ScoreTable) -> list[str]:
    """Return options for the tasks and seeds of these scores."""
    seeds = max(len(rows.unique("seed")) for rows in scores.group("task").values())
    return ["--tasks", ",".join(scores.unique("task")), "--seeds", str(seeds)]
