"""Run the unfinished cells of a study, several at a time, as child processes; a failed cell stops no other."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock

from interlace.core.errors import InterlaceError, RunError, SettingsError
from interlace.core.files import open_no_link
from interlace.core.json_files import read_json, write_json
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.studies import GridCell, Study, cells_of, matching
from interlace.experiments.studies.folder import LOG, STUDY, TRAINING, StudyFolder
from interlace.training.run_folder import EVALUATION, locked

log = logging.getLogger(__name__)

GRACE = 60.0  # seconds that a child has to write a checkpoint
_FAULTS = (InterlaceError, OSError)  # errors that fail a single cell


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is."""

    done: int
    total: int
    running: tuple[str, ...]
    failed: tuple[str, ...]


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
    jobs: int | None = None,
    only: str = "*",
    put_aside: bool = False,
    code: Sequence[Path] = (),
    on_progress: Callable[[StudyProgress], None] = lambda _: None,
) -> StudyOutcome:
    """Run the cells that are not finished; the same call resumes a stopped study.

    study, folder: the grid, and the folder of its file, where its recipes may be too. into: the study's folder:
    `cells/NAME/` are run folders, `results.parquet` and `results.json` their scores. jobs: cells at a time; default:
    one a GPU, or as many as there are cores for their threads. only: a shell pattern of cells' or systems' names.
    put_aside: move cells that began with other settings to `aside/` and run them again; else they are a RunError. code:
    files with objectives, tasks or readers that the cells need. on_progress: called about once a second.
    """
    every = cells_of(study, folder)
    cells = matching(every, only)
    place = StudyFolder(into)
    _check_inputs(cells, place)
    with locked(into, STUDY):
        _check_study(study, place)
        _check_settings(cells, place, put_aside=put_aside)
        outcome = StudyOutcome(cells)

        def write() -> None:
            try:
                place.write_scores(place.collect(study, [cell for cell in every if cell.name not in outcome.failed]))
            except OSError as error:
                reason = error.strerror or error
                raise RunError(f"{place.path}: results cannot be written: {reason}") from error

        def try_to_write() -> None:
            try:
                write()
            except InterlaceError as error:  # written again after the next cell
                log.warning("results are not written yet: %s", error)

        place.write_scores(place.collect(study, every))
        with _signals_as_interrupts():
            _Runner(place, resources_for(cells, jobs), code, outcome, on_progress).run(try_to_write)
        write()
    return outcome


def _check_inputs(cells: Sequence[GridCell], place: StudyFolder) -> None:
    """Raise one SettingsError for all unfinished cells that lack files."""
    faults = missing_of_cells([cell for cell in cells if not place.is_finished(cell)], place, fetch=True)
    if faults:
        lines = "".join(f"\n  {', '.join(systems)}: {message}" for message, systems in faults.items())
        raise SettingsError(f"systems that cannot run:{lines}\nleave them out with --only, or provide what is missing")


def missing_of_cells(
    cells: Sequence[GridCell], place: StudyFolder | None, *, fetch: bool = False
) -> dict[str, list[str]]:
    """Return a message for each file or checkpoint that cells need and that is missing, with the systems.

    Names of the hub are models. place: where some cells may be trained already; None: nowhere. fetch: download
    checkpoints to start from.
    """
    faults: dict[str, list[str]] = {}
    for cell in cells:
        trains = not (cell.model or cell.origin or (place is not None and place.is_trained(cell.name)))
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


def _check_study(study: Study, place: StudyFolder) -> None:
    """Write `study.json`; raise RunError if the folder holds another study."""
    found = read_json(path := place.path / STUDY, dict[str, Any], None)
    if found is not None and found.get("name") != study.name:
        raise RunError(f"{place.path}: holds study {found.get('name')!r}, not {study.name!r}; choose another folder")
    write_json(path, study.dump())


def _check_settings(cells: Sequence[GridCell], place: StudyFolder, *, put_aside: bool) -> None:
    """Raise RunError for cells that began with other settings, or move them aside."""
    changed = place.changed(cells)
    if changed and not put_aside:
        lines = "".join(f"\n  {name}: {'; '.join(how[:3])}" for name, how in list(changed.items())[:10])
        more = f"\n  and {len(changed) - 10} more" if len(changed) > 10 else ""
        raise RunError(
            f"{place.path}: {len(changed)} of {len(cells)} cells began with other settings:{lines}{more}\n"
            "run with --archive to move them away and run them again, or choose another folder"
        )
    for name in changed:
        log.info("%s began with other settings; moved to %s", name, place.put_aside(name))


class _Runner:
    """Assigns cells to slots. Each running cell has a thread that waits for one child process at a time."""

    def __init__(
        self,
        place: StudyFolder,
        resources: JobResources,
        code: Sequence[Path],
        outcome: StudyOutcome,
        on_progress: Callable[[StudyProgress], None],
    ) -> None:
        self.place, self.resources, self.outcome, self.on_progress = place, resources, outcome, on_progress
        self.code = [word for path in code for word in ("--code", str(path))]
        self.waiting = [cell for cell in outcome.cells if not place.is_finished(cell)]
        self.done = len(outcome.cells) - len(self.waiting)
        self.running: dict[Future[str | None], tuple[GridCell, int]] = {}
        self.stopped = False
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, on_finished: Callable[[], None]) -> None:
        """Run all waiting cells. on_finished: called after each cell."""
        if not self.waiting:
            log.info("all %d cells are finished", self.done)
            return
        log.info("%d of %d cells are finished; %s", self.done, len(self.outcome.cells), self.resources)
        with ThreadPoolExecutor(self.resources.jobs) as pool:
            try:
                while self.waiting or self.running:
                    self._start_ready(pool)
                    self.on_progress(self._progress())
                    over, _ = wait(self.running, timeout=1.0, return_when=FIRST_COMPLETED)
                    for future in over:
                        self._end(future)
                    if over:
                        on_finished()
            except BaseException:
                self._stop()
                raise
        self.on_progress(self._progress())

    def _start_ready(self, pool: ThreadPoolExecutor) -> None:
        """Start cells in free slots; a cell that evaluates another's model waits for it, or fails with it."""
        for cell in list(self.waiting):
            try:
                ready = not cell.origin or any(map(self.place.is_trained, (cell.name, cell.origin)))
            except _FAULTS as error:
                self.waiting.remove(cell)
                self._fail(cell, str(error))
                continue
            started = [running for running, _ in self.running.values()]
            if not ready and cell.origin not in {other.name for other in (*self.waiting, *started)}:
                self.waiting.remove(cell)
                self._fail(cell, f"{cell.origin}, whose model it evaluates, has none")
            elif ready and len(self.running) < self.resources.jobs:
                self.waiting.remove(cell)
                slot = min(set(range(self.resources.jobs)) - {slot for _, slot in self.running.values()})
                self.running[pool.submit(self._run_cell, cell, slot)] = cell, slot

    def _end(self, future: Future[str | None]) -> None:
        cell, _ = self.running.pop(future)
        try:
            error = future.result()
        except _FAULTS as fault:
            error = str(fault)
        if error is None:
            self.done += 1
        else:
            self._fail(cell, error)

    def _fail(self, cell: GridCell, error: str) -> None:
        self.outcome.failed[cell.name] = error
        log.info("%s failed: %s (%s)", cell.name, error, self.place.cell(cell.name) / LOG)

    def _run_cell(self, cell: GridCell, slot: int) -> str | None:
        """Run a cell's stages in turn; return the error of a failed one."""
        state = self.place.begin(cell)
        for stage, arguments in self._stages(cell):
            begun = time.monotonic()
            code, why = self._run_command([*arguments, *self.code], self.place.cell(cell.name) / LOG, slot)
            state.seconds[stage] = round(state.seconds.get(stage, 0.0) + time.monotonic() - begun, 1)
            if code != 0:
                state.state, state.error = ("stopped", "") if code is None else ("failed", why)
                self.place.write_state(cell, state)
                return None if code is None else why
        state.state, state.finished = "finished", datetime.now(UTC).isoformat(timespec="seconds")
        state.scored = self.place.content_keys(cell)
        self.place.write_state(cell, state)
        return None

    def _stages(self, cell: GridCell) -> list[tuple[str, list[str]]]:
        """Return the commands that are left to run, by stage."""
        run = self.place.cell(cell.name)
        trained = self.place.is_trained(cell.name)
        model = cell.model or str(run if trained or not cell.origin else self.place.cell(cell.origin))
        recipe, tasks = ["--recipe", str(run / EVALUATION)], ["--tasks", ",".join(cell.tasks)]
        seeds = ["--seeds", str(cell.fine_tuning_seeds)]
        stages = [("evaluate", ["evaluate", model, *recipe, *tasks, *seeds, "--output", str(run)])]
        if cell.model or cell.origin or trained:
            return stages
        return [("pretrain", ["pretrain", str(run / TRAINING), "--output", str(run)]), *stages]

    def _run_command(self, arguments: Sequence[str], log: Path, slot: int) -> tuple[int | None, str]:
        """Run `interlace ARGUMENTS`, logged; return the exit code (None: stopped) and the last line of a failure."""
        with suppress(OSError), FileLock(log.parent / ".lock", timeout=GRACE):
            pass  # a command of a killed study may still end
        with open_no_link(log, "ab") as file:
            begin = file.tell() + file.write(f"$ interlace {shlex.join(arguments)}\n".encode())
            file.flush()
            with self._lock:
                if self.stopped:
                    return None, ""
                child = subprocess.Popen(  # noqa: S603 - our own command
                    [sys.executable, "-m", "interlace", *arguments],
                    env={**os.environ, **self.resources.environment(slot), "INTERLACE_END_WITH_STDIN": "1"},
                    stdin=subprocess.PIPE,  # closed when this process ends, however it ends
                    stdout=file.fileno(),
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C reaches this process alone, which interrupts each child once
                )
                self._children.add(child)
            code = child.wait()
            if child.stdin is not None:
                child.stdin.close()
        with self._lock:
            self._children.discard(child)
        if self.stopped:
            return None, ""
        return code, "" if code == 0 else _reason(code, log, begin)

    def _stop(self) -> None:
        """End all children, which save a checkpoint; kill those that do not end within `GRACE` seconds."""
        with self._lock:
            self.stopped = True
            running = list(self._children)
        for child in running:
            if child.stdin is not None:
                child.stdin.close()
        timer = threading.Timer(GRACE, _kill_all, [running])
        timer.start()
        try:
            for child in running:
                child.wait()
        finally:
            timer.cancel()

    def _progress(self) -> StudyProgress:
        running = tuple(cell.name for cell, _ in self.running.values())
        return StudyProgress(self.done, len(self.outcome.cells), running, tuple(self.outcome.failed))


@dataclass(frozen=True)
class JobResources:
    """How cells share a machine: `jobs` at a time with `threads` each, on `gpus` in turn."""

    jobs: int
    threads: int
    gpus: tuple[str, ...] = ()

    def environment(self, slot: int) -> dict[str, str]:
        """Return environment variables for a slot; a recipe's `train.threads` takes precedence."""
        threads = {"OMP_NUM_THREADS": str(self.threads)}
        return {**threads, "CUDA_VISIBLE_DEVICES": self.gpus[slot % len(self.gpus)]} if self.gpus else threads

    def __str__(self) -> str:
        gpus = f", on GPUs {', '.join(self.gpus)}" if self.gpus else ""
        return f"{self.jobs} at a time, {self.threads} thread{'s' * (self.threads > 1)} each{gpus}"


def resources_for(cells: Sequence[GridCell], jobs: int | None = None) -> JobResources:
    """Return how cells share this machine.

    jobs: cells at a time; default: one a GPU; without GPUs, as many as there are cores for the threads of the recipes
    or of OMP_NUM_THREADS, and one if neither is set, because torch then uses all cores.
    """
    cores, gpus = available_cores(), available_gpus()
    threads = max((cell.recipe.train.threads or 0 for cell in cells), default=0)
    wished = os.environ.get("OMP_NUM_THREADS", "")
    if not threads and wished.isdecimal():
        threads = int(wished)
    jobs = jobs or len(gpus) or max(1, cores // (threads or cores))
    return JobResources(jobs, threads or max(1, cores // jobs), gpus)


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_gpus() -> tuple[str, ...]:
    """Return the names of GPUs for CUDA_VISIBLE_DEVICES."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return tuple(name for part in visible.split(",") if (name := part.strip()) and name != "-1")
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=20)  # noqa: S607
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = done.stdout.splitlines() if not done.returncode else []
    return tuple(str(number) for number, line in enumerate([line for line in lines if line.startswith("GPU ")]))


def _kill_all(children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def _reason(code: int, log: Path, begin: int) -> str:
    """Return why a command failed: its last line of output after `begin`, or the signal that killed it."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(begin, file.tell() - 8192))
        lines = file.read().decode("utf-8", "replace").splitlines()
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if code >= 0:
        return line or f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"killed by {name}{hint}" + (f"; last line of output: {line}" if line else "")


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
