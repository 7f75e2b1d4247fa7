"""Run the unfinished cells of a study one after the other, each by child processes; a failed cell stops no other.

The same command may run several times, also on several machines: a lock for each cell divides the cells among them.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from interlace.core.errors import InterlaceError, LockedError, RunError, SettingsError
from interlace.core.files import file_lock, open_no_link
from interlace.core.json_files import read_json, write_json
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.studies import GridCell, Study, cells_of, matching
from interlace.experiments.studies.folder import LOG, STUDY, TRAINING, CellState, StudyFolder
from interlace.training.run_folder import EVALUATION, check_folder

log = logging.getLogger(__name__)

POLL = 2.0  # seconds between attempts to lock cells that other processes work on
_SHOW_EVERY = 0.5  # seconds after which the output of a child is shown
_FAULTS = (InterlaceError, OSError)  # errors that fail a single cell
ShowOutput = Callable[[str], None]


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
    put_aside: bool = False,
    code: Sequence[Path] = (),
    show_output: ShowOutput = lambda _: None,
) -> StudyOutcome:
    """Run the cells that are not finished; the same call resumes a stopped study, or shares the cells of a running one.

    It returns when all cells are finished or failed, whichever process ran them.

    study, folder: the grid, and the folder of its file, where its recipes may be too. into: the study's folder:
    `cells/NAME/` are run folders, `results.parquet` and `results.json` their scores. only: a shell pattern of cells' or
    systems' names. put_aside: move cells that began with other settings to `aside/` and run them again; else they are a
    RunError. code: files with objectives, tasks or readers that the cells need. show_output: called with what the
    child processes print.
    """
    every_cell = cells_of(study, folder)
    cells = matching(every_cell, only)
    study_folder = StudyFolder(into)
    _check_inputs([cell for cell in cells if not study_folder.is_finished(cell)], study_folder)
    check_folder(into, STUDY)
    with study_folder.lock():
        _check_study(study, study_folder)
        _check_settings(cells, study_folder, put_aside=put_aside)
    outcome = StudyOutcome(cells)

    def write_scores() -> None:
        with study_folder.lock():
            failed = outcome.failed
            readable = [
                cell
                for cell in every_cell
                if cell.name not in failed or _is_mended(cell, study_folder)
            ]
            study_folder.write_scores(study_folder.collect(study, readable))

    with _exiting_at_sigterm():
        _Runner(study_folder, outcome, code, show_output).run(write_scores)
    write_scores()
    return outcome


def _is_mended(failed: GridCell, study_folder: StudyFolder) -> bool:
    """Return whether another process has finished a cell since it failed; false if its files cannot be read."""
    try:
        return study_folder.is_finished(failed)
    except _FAULTS:
        return False


def _check_inputs(unfinished: Sequence[GridCell], study_folder: StudyFolder) -> None:
    """Raise one SettingsError for all cells that lack files."""
    faults = missing_of_cells(unfinished, study_folder, fetch=True)
    if faults:
        lines = "".join(
            f"\n  {', '.join(systems)}: {message}" for message, systems in faults.items()
        )
        raise SettingsError(
            f"systems that cannot run:{lines}\nleave them out with --only, or provide what is missing"
        )


def missing_of_cells(
    cells: Sequence[GridCell], study_folder: StudyFolder | None, *, fetch: bool = False
) -> dict[str, list[str]]:
    """Return a message for each file or checkpoint that cells need and that is missing, with the systems.

    Names of the hub are models. study_folder: where some cells may be trained already; None: nowhere. fetch: download
    checkpoints to start from.
    """
    faults: dict[str, list[str]] = {}
    for cell in cells:
        trains = not (
            cell.model
            or cell.origin
            or (study_folder is not None and study_folder.is_trained(cell.name))
        )
        missing = missing_inputs(cell.recipe, cell.tasks, training=trains, fetch=fetch)
        messages = [*missing.training, *missing.evaluation]
        model = cell.model or ""
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
    stored = read_json(path, dict[str, Any], None)
    if stored is not None and stored.get("name") != study.name:
        names = f"holds study {stored.get('name')!r}, not {study.name!r}"
        raise RunError(f"{study_folder.path}: {names}; choose another folder")
    write_json(path, study.dump())


def _check_settings(
    cells: Sequence[GridCell], study_folder: StudyFolder, *, put_aside: bool
) -> None:
    """Raise RunError for cells that began with other settings, or move them aside."""
    changed = study_folder.changed(cells)
    if changed and not put_aside:
        lines = "".join(
            f"\n  {name}: {'; '.join(how[:3])}" for name, how in list(changed.items())[:10]
        )
        if len(changed) > 10:
            more = f"\n  and {len(changed) - 10} more"
        else:
            more = ""
        raise RunError(
            f"{study_folder.path}: {len(changed)} of {len(cells)} cells began with other settings:{lines}{more}\n"
            "run with --archive to move them away and run them again, or choose another folder"
        )
    for name in changed:
        archived_cell = study_folder.put_aside(name)
        log.info("%s began with other settings; moved to %s", name, archived_cell)


class _Runner:
    """Runs one cell at a time; comes back later to those that other processes work on."""

    def __init__(
        self,
        study_folder: StudyFolder,
        outcome: StudyOutcome,
        code: Sequence[Path],
        show_output: ShowOutput,
    ) -> None:
        self.study_folder = study_folder
        self.outcome = outcome
        self.code = [word for path in code for word in ("--code", str(path))]
        self.show_output = show_output
        self.waiting = [cell for cell in outcome.cells if not study_folder.is_finished(cell)]
        self.first_states = {cell.name: study_folder.state(cell) for cell in self.waiting}
        self.passed_over: set[str] = set()

    def run(self, write_scores: Callable[[], None]) -> None:
        """Run all waiting cells. write_scores: called after each."""
        self._log_progress()
        while self.waiting:
            for cell in list(self.waiting):
                if self._try(cell):
                    self.waiting.remove(cell)
                    self._log_progress()
                    try:
                        write_scores()
                    except _FAULTS as error:  # written again after the next cell
                        log.warning("results are not written yet: %s", error)
            if self.waiting:
                time.sleep(POLL)

    def _log_progress(self) -> None:
        total = len(self.outcome.cells)
        failed = len(self.outcome.failed)
        log.info(
            "%d of %d cells are finished, %d failed",
            total - failed - len(self.waiting),
            total,
            failed,
        )

    def _try(self, cell: GridCell) -> bool:
        """Run a cell if that is possible now; return whether it is finished or failed."""
        try:
            if not self._is_ready(cell):
                return False
            with self.study_folder.cell_lock(cell.name):
                self._run_cell(cell)
        except LockedError as error:
            if cell.name not in self.passed_over:
                self.passed_over.add(cell.name)
                log.info("%s is left to another process: %s", cell.name, error)
            return False
        except _FAULTS as error:
            self.outcome.failed[cell.name] = str(error)
            log.info(
                "%s failed: %s (%s)", cell.name, error, self.study_folder.cell(cell.name) / LOG
            )
        return True

    def _is_ready(self, cell: GridCell) -> bool:
        """Return whether the model is there that a cell evaluates; raise a RunError if it will not be."""
        if (
            not cell.origin
            or self.study_folder.is_trained(cell.name)
            or self.study_folder.is_trained(cell.origin)
        ):
            return True
        if any(other.name == cell.origin for other in self.waiting):
            return False
        raise RunError(f"{cell.origin}, whose model it evaluates, has none")

    def _run_cell(self, cell: GridCell) -> None:
        """Run a cell's stages in turn, unless another process has; raise the RunError of a failed one."""
        if self.study_folder.is_finished(cell):
            return
        state = self.study_folder.state(cell)
        if state.state == "failed" and state != self.first_states[cell.name]:
            raise RunError(state.error)
        with file_lock(self.study_folder.cell(cell.name) / ".lock"):
            pass  # a command of a killed study may still end
        state = self.study_folder.begin(cell)
        state.state = "stopped"  # unless one of the following holds
        try:
            self._run_stages(cell, state)
            state.state = "finished"
        except _FAULTS as error:
            state.state = "failed"
            state.error = str(error)
            raise
        finally:
            self.study_folder.write_state(cell, state)

    def _run_stages(self, cell: GridCell, state: CellState) -> None:
        for stage, arguments in self._stages(cell):
            begun = time.monotonic()
            try:
                run_logged(
                    [*arguments, *self.code],
                    self.study_folder.cell(cell.name) / LOG,
                    self.show_output,
                )
            finally:
                state.seconds[stage] = round(
                    state.seconds.get(stage, 0.0) + time.monotonic() - begun, 1
                )
        state.finished = datetime.now(UTC).isoformat(timespec="seconds")
        state.scored = self.study_folder.content_keys(cell)

    def _stages(self, cell: GridCell) -> list[tuple[str, list[str]]]:
        """Return the commands that are left to run, by stage."""
        run = self.study_folder.cell(cell.name)
        trained = self.study_folder.is_trained(cell.name)
        model = cell.model or str(
            run if trained or not cell.origin else self.study_folder.cell(cell.origin)
        )
        recipe = ["--recipe", str(run / EVALUATION)]
        tasks = ["--tasks", ",".join(cell.tasks)]
        seeds = ["--seeds", str(cell.fine_tuning_seeds)]
        stages = [("evaluate", ["evaluate", model, *recipe, *tasks, *seeds, "--output", str(run)])]
        if cell.model or cell.origin or trained:
            return stages
        return [("pretrain", ["pretrain", str(run / TRAINING), "--output", str(run)]), *stages]


def run_logged(arguments: Sequence[str], log_path: Path, show_output: ShowOutput) -> None:
    """Run `interlace ARGUMENTS`, logged; raise a RunError with the last line of the output if it fails.

    An interrupt lets the command save a checkpoint; a second one kills it.
    """
    with open_no_link(log_path, "ab") as file:
        begin = file.tell()
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
    with child, log_path.open("rb") as output:
        output.seek(begin)
        try:
            while child.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_SHOW_EVERY)
                show_output(output.read().decode("utf-8", "replace"))
        except BaseException:
            child.communicate()  # closes its standard input, so it saves a checkpoint and ends
            show_output(output.read().decode("utf-8", "replace"))
            raise
        finally:
            child.kill()
    if child.returncode != 0:
        raise RunError(_reason(child.returncode, log_path, begin))


def _reason(code: int, log: Path, begin: int) -> str:
    """Return why a command failed: its last line of output after `begin`, or the signal that killed it."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(begin, file.tell() - 8192))
        lines = file.read().decode("utf-8", "replace").splitlines()
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if code >= 0:
        return line or f"exit code {code}"
    if -code in set(signal.Signals):
        name = signal.Signals(-code).name
    else:
        name = f"signal {-code}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}" + (f"; last line of output: {line}" if line else "")


@contextmanager
def _exiting_at_sigterm() -> Iterator[None]:
    """End this process like Ctrl-C at SIGTERM, with the exit code 143; in the main thread."""

    def end(number: int, _frame: FrameType | None) -> None:
        log.info("stopped by SIGTERM; rerun the same command to resume")
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
