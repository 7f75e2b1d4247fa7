"""Run the unfinished cells of a study one after the other, each by child processes; a failed cell stops no other.

The same command may run several times, also on several machines: a lock for each cell divides the cells among them.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from interlace.core.errors import InterlaceError, LockedError, RunError, SettingsError, require
from interlace.core.files import file_lock, open_no_link
from interlace.core.json_files import JsonObject, read_json, write_json
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.studies import GridCell, Study, cells_of, matching
from interlace.experiments.studies.folder import CELLS, LOG, STUDY, TRAINING, StudyFolder
from interlace.training.run_folder import EVALUATION, check_folder

log = logging.getLogger(__name__)

POLL = 2.0  # seconds between attempts to lock cells that other processes work on
_FAULTS = (InterlaceError, OSError)  # errors that fail a single cell


@dataclass
class StudyOutcome:
    """The cells that `run_study` was to run, and the errors of those that failed."""

    cells: list[GridCell]
    failed: dict[str, str] = field(default_factory=dict)


def run_study(
    study: Study,
    folder: Path,
    into: Path,
    *,
    only: str = "*",
    code: Sequence[Path] = (),
) -> StudyOutcome:
    """Run the cells that are not finished; the same call resumes a stopped study, or shares the cells of a running one.

    It returns when all cells are finished or failed, whichever process ran them.

    study, folder: the grid, and the folder of its file, where its recipes may be too. into: the study's folder:
    `cells/NAME/` are run folders, `results.json` their scores. only: a shell pattern of cells' or
    systems' names. code: files with objectives, tasks or readers that the cells need.
    """
    all_cells = cells_of(study, folder)
    outcome = StudyOutcome(matching(all_cells, only))
    study_folder = StudyFolder(into)
    waiting = [cell for cell in outcome.cells if not study_folder.is_finished(cell)]
    _check_inputs(waiting, study_folder)
    check_folder(into, STUDY)
    with study_folder.lock():
        _check_study(study, study_folder)

    def write_scores() -> None:
        with study_folder.lock():
            study_folder.write_scores(study_folder.collect(study, all_cells))

    options = [word for path in code for word in ("--code", str(path))]
    while waiting:
        for cell in list(waiting):
            try:
                with study_folder.cell_lock(cell.name):
                    _run_cell(cell, study_folder, options)
            except LockedError as error:
                log.info(
                    "%s is left to another process: %s",
                    cell.name,
                    error,
                )
                continue
            except _FAULTS as error:
                outcome.failed[cell.name] = str(error)
                log.info("%s failed: %s", cell.name, error)
            waiting.remove(cell)
            finished = len(outcome.cells) - len(waiting) - len(outcome.failed)
            log.info(
                "%d of %d cells are finished, %d failed",
                finished, len(outcome.cells), len(outcome.failed),
            )  # fmt: skip
            try:
                write_scores()
            except _FAULTS as error:  # written again after the next cell
                log.warning("results are not written yet: %s", error)
        if waiting:
            time.sleep(POLL)
    write_scores()
    return outcome


def _check_inputs(unfinished: Sequence[GridCell], study_folder: StudyFolder) -> None:
    """Raise one SettingsError for all cells that lack files, or began with other settings."""
    faults = missing_of_cells(unfinished, study_folder)
    if faults:
        lines = [f"\n  {', '.join(systems)}: {message}" for message, systems in faults.items()]
        raise SettingsError(
            f"systems that cannot run:{''.join(lines)}\nleave them out with --only, or provide what is missing"
        )


def missing_of_cells(
    cells: Sequence[GridCell], study_folder: StudyFolder | None
) -> dict[str, list[str]]:
    """Return a message for each reason that cells cannot run, with the systems: missing files, changed settings.

    Names of the hub are models. study_folder: where some cells may be trained already; None: nowhere.
    Before anything is read or built, raise a MissingDependencyError if no cell can run for lack of PyTorch.
    """
    if cells:
        require("torch", "a study")
    faults: dict[str, list[str]] = {}
    for cell in cells:
        model = cell.model or ""
        changes = []
        is_trained = False
        if study_folder is not None:
            changes = study_folder.changes(cell)
            is_trained = study_folder.is_trained(cell.name)
        trains = not model and not is_trained
        missing = missing_inputs(cell.recipe, cell.tasks, training=trains)
        messages = [*missing.training, *missing.evaluation]
        if changes:
            messages.append(
                f"began with other settings ({'; '.join(changes[:3])}); remove its folders in {CELLS}/, or "
                "choose another folder for the study"
            )
        if model.startswith(("/", "./", "../")) and not Path(model).is_dir():
            messages.insert(0, f"{model}: no such checkpoint")
        for message in messages:
            systems = faults.setdefault(message, [])
            if cell.system not in systems:
                systems.append(cell.system)
    return faults


def _check_study(study: Study, study_folder: StudyFolder) -> None:
    """Write `study.json`; raise RunError if the folder holds another study."""
    path = study_folder.path / STUDY
    stored = read_json(path, JsonObject, None)
    if stored is not None and stored.get("name") != study.name:
        names = f"holds study {stored.get('name')!r}, not {study.name!r}"
        raise RunError(f"{study_folder.path}: {names}; choose another folder")
    write_json(path, study.dump())


def _run_cell(cell: GridCell, study_folder: StudyFolder, options: Sequence[str]) -> None:
    """Run a cell's commands in turn, unless another process has; raise the RunError of a failed one."""
    if study_folder.is_finished(cell):
        return
    run = study_folder.cell(cell.name)
    with file_lock(run / ".lock"):
        pass  # a command of a killed study may still end
    state = study_folder.begin(cell)
    log.info("%s is running; its output is in %s", cell.name, run / LOG)
    state.state = "stopped"  # unless it fails or finishes
    try:
        for arguments in _commands(cell, study_folder):
            stage = arguments[0]
            start = time.monotonic()
            run_logged([*arguments, *options], run / LOG)
            seconds = state.seconds.get(stage, 0.0) + time.monotonic() - start
            state.seconds[stage] = round(seconds, 1)
        state.state = "finished"
        state.finished = datetime.now(UTC).isoformat(timespec="seconds")
    except _FAULTS as error:
        state.state = "failed"
        state.error = str(error)
        raise
    finally:
        study_folder.write_state(cell, state)


def _commands(cell: GridCell, study_folder: StudyFolder) -> list[list[str]]:
    """Return the commands that are left to run."""
    run = str(study_folder.cell(cell.name))
    commands = []
    if not cell.model and not study_folder.is_trained(cell.name):
        commands.append(["pretrain", f"{run}/{TRAINING}", "--output", run])
    recipe = ["--recipe", f"{run}/{EVALUATION}", "--tasks", ",".join(cell.tasks)]
    seeds = ["--seeds", str(cell.fine_tuning_seeds)]
    commands.append(["evaluate", cell.model or run, *recipe, *seeds, "--output", run])
    return commands


def run_logged(arguments: Sequence[str], log_path: Path) -> None:
    """Run `interlace ARGUMENTS`, logged; raise a RunError with the last line of the output if it fails.

    An interrupt lets the command save a checkpoint; a second one kills it.
    """
    with open_no_link(log_path, "ab") as file:
        start = file.tell()
        file.write(f"$ interlace {shlex.join(arguments)}\n".encode())
        file.flush()
        child = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "interlace", *arguments],
            env={**os.environ, "INTERLACE_END_WITH_STDIN": "1"},
            stdin=subprocess.PIPE,  # closed when this process ends, however it ends
            stdout=file.fileno(),
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches this process alone, which interrupts the child once
        )
    with child:
        try:
            exit_code = child.wait()
        except BaseException:
            child.communicate()  # closes its standard input, so it saves a checkpoint and ends
            raise
        finally:
            child.kill()
    if exit_code != 0:
        raise RunError(_reason(exit_code, log_path, start))


def _reason(exit_code: int, log_path: Path, start: int) -> str:
    """Return why a command failed: its last line of output after `start`, or the signal that killed it."""
    text = log_path.read_bytes()[start:].decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last_line = lines[-1] if lines else ""
    if exit_code < 0:
        return (
            f"killed by signal {-exit_code} (out of memory?); last line of output: {last_line}"
        )
    return last_line or f"exit code {exit_code}"
