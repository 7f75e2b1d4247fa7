"""Run the cells of a study that are not finished, several at a time; one that fails stops no other."""

from __future__ import annotations

import logging
import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from interlace.core.errors import InterlaceError, RunError
from interlace.experiments.studies._children import Children, as_interrupts
from interlace.experiments.studies._share import Share, share_of
from interlace.experiments.studies._state import CELLS, LOG, STUDY, TRAINING, Places
from interlace.experiments.studies.cells import cells_of, chosen, must_have_models
from interlace.experiments.studies.results import JSON, collect, write_results
from interlace.training.run_folder import EVALUATION, RECIPE, locked, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from interlace.experiments.studies import Study
    from interlace.experiments.studies.cells import Cell

log = logging.getLogger(__name__)
_TICK = 1.0  # seconds between looks at the clock
_FAULTS = (InterlaceError, OSError)  # what may befall one cell's files: that cell failed, and the others go on


@dataclass(frozen=True)
class Standing:
    """How far a study is. left: seconds to go, as finished cells tell; None where none does yet."""

    done: int
    total: int
    running: tuple[str, ...]
    failed: tuple[str, ...]
    left: float | None


@dataclass
class Outcome:
    """What a call of `run_study` came to: the cells it was to run, and of those that failed the log's last line."""

    cells: list[Cell]
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
    watch: Callable[[Standing], None] = lambda _: None,
) -> Outcome:
    """Run what is not finished; the same call goes on where a stopped one left off.

    Args:
        study: the grid.
        folder: where its file stands, and recipes beside it may.
        into: the study's folder: `cells/NAME/` are run folders, `results.parquet` and `results.json` what they hold.
        jobs: cells at once; none: as many as the machine has GPUs, or cores for their threads.
        only: a shell pattern of cells' or systems' names.
        put_aside: move cells that were begun under other settings to `aside/` and run them anew.
        code: files with objectives, tasks or readers that the cells need.
        watch: told how far it is, about once a second.

    Raises:
        RunError: the folder is in use or another study's, or cells were begun under other settings.
        SettingsError, DataError: a cell cannot be as the study says; found before anything runs.
    """
    every = cells_of(study, folder)
    cells = chosen(every, only)
    places = Places(into)
    must_have_models(cell for cell in cells if not places.is_finished(cell))
    with locked(into):
        _claim(study, places)
        _must_be_the_same(cells, places, put_aside=put_aside)
        outcome = Outcome(cells)
        runner = _Runner(places, share_of(cells, jobs), tuple(code), outcome, watch)
        write_results(into, collect(study, every, places))
        with as_interrupts():
            runner.run(lambda: _try_to_write(study, every, outcome, places))
        _write(study, every, outcome, places)
    return outcome


def _try_to_write(study: Study, cells: Sequence[Cell], outcome: Outcome, places: Places) -> None:
    """Write the results so far; what stands in the way of that now need not do so at the end."""
    try:
        _write(study, cells, outcome, places)
    except InterlaceError as error:
        log.warning("results are not written yet: %s", error)


def _write(study: Study, cells: Sequence[Cell], outcome: Outcome, places: Places) -> None:
    whole = [cell for cell in cells if cell.name not in outcome.failed]  # a folder that failed may not be readable
    try:
        write_results(places.into, collect(study, whole, places))
    except OSError as error:
        raise RunError(f"{places.into}: results cannot be written: {error.strerror or error}") from error


def _claim(study: Study, places: Places) -> None:
    found = read_json(path := places.into / STUDY)
    foreign = [name for name in (RECIPE, CELLS, JSON) if (places.into / name).exists()]
    if found is None and foreign:
        raise RunError(
            f"{places.into}: holds {foreign[0]!r} but no {STUDY}, so it is no study's; choose another folder"
        )
    if found is not None and found.get("name") != study.name:
        raise RunError(
            f"{places.into}: holds the study {found.get('name')!r}, not {study.name!r}; choose another folder"
        )
    write_json(path, study.dump())


def _must_be_the_same(cells: Sequence[Cell], places: Places, *, put_aside: bool) -> None:
    """Cells that were begun under other settings are never gone on with."""
    changed = places.changed(cells)
    if changed and not put_aside:
        told = "".join(f"\n  {name}: {'; '.join(how[:3])}" for name, how in list(changed.items())[:10])
        more = f"\n  and {len(changed) - 10} more" if len(changed) > 10 else ""
        raise RunError(
            f"{places.into}: begun under other settings: {len(changed)} of {len(cells)} cells:{told}{more}\n"
            "run with --archive to move them away and run them anew, or choose another folder"
        )
    for name in changed:
        log.info("%s was begun under other settings; put aside as %s", name, places.put_aside(name))


class _Runner:
    """Deals cells to slots. A cell is one thread that waits for one child at a time."""

    def __init__(
        self,
        places: Places,
        share: Share,
        code: tuple[Path, ...],
        outcome: Outcome,
        watch: Callable[[Standing], None],
    ) -> None:
        self.places, self.share, self.outcome, self.watch = places, share, outcome, watch
        self.code = [word for path in code for word in ("--code", str(path))]
        self.waiting = [cell for cell in outcome.cells if not places.is_finished(cell)]
        self.done = [_seconds(cell, places) for cell in outcome.cells if places.is_finished(cell)]
        self.running: dict[Future[str | None], tuple[Cell, int, float]] = {}
        self.children = Children(dict(os.environ))

    def run(self, finished: Callable[[], None]) -> None:
        """Run all that waits. finished: called after each cell that came to its end."""
        if not self.waiting:
            log.info("all %d cells are finished", len(self.done))
            return
        log.info("%d of %d cells are finished; %s", len(self.done), len(self.outcome.cells), _told(self.share))
        with ThreadPoolExecutor(self.share.jobs) as pool:
            try:
                while self.waiting or self.running:
                    self._deal(pool)
                    self.watch(self._standing())
                    over, _ = wait(self.running, timeout=_TICK, return_when=FIRST_COMPLETED)
                    for future in over:
                        self._end(future)
                    if over:
                        finished()
            except BaseException:
                self.children.stop()
                raise
        self.watch(self._standing())

    def _deal(self, pool: ThreadPoolExecutor) -> None:
        """Start cells in free slots; one that evaluates another's model waits for it, or fails with it."""
        for cell in list(self.waiting):
            try:
                ready = not cell.origin or self._trained(cell)
            except _FAULTS as error:
                self.waiting.remove(cell)
                self._fail(cell, str(error))
                continue
            if not ready and not self._to_come(cell.origin):
                self.waiting.remove(cell)
                self._fail(cell, f"{cell.origin}, whose model it evaluates, has none")
            elif ready and len(self.running) < self.share.jobs:
                self.waiting.remove(cell)
                slot = min(set(range(self.share.jobs)) - {slot for _, slot, _ in self.running.values()})
                self.running[pool.submit(self._cell, cell, slot)] = cell, slot, time.monotonic()

    def _trained(self, cell: Cell) -> bool:
        return any(name and self.places.is_trained(name) for name in (cell.name, cell.origin))

    def _to_come(self, name: str | None) -> bool:
        under_way = [*self.waiting, *(cell for cell, _, _ in self.running.values())]
        return any(cell.name == name for cell in under_way)

    def _end(self, future: Future[str | None]) -> None:
        cell, _, _ = self.running.pop(future)
        try:
            error = future.result()
            if error is None:
                self.done.append(_seconds(cell, self.places))
                return
        except _FAULTS as fault:
            error = str(fault)
        self._fail(cell, error)

    def _fail(self, cell: Cell, error: str) -> None:
        self.outcome.failed[cell.name] = error
        log.info("%s failed: %s (%s)", cell.name, error, self.places.cell(cell.name) / LOG)

    def _cell(self, cell: Cell, slot: int) -> str | None:
        """Run a cell's stages in turn; returns why it failed.

        Raises:
            InterlaceError, OSError: its folder cannot be read or written.
        """
        state = self.places.claim(cell)
        for stage, arguments in self._stages(cell):
            begun = time.monotonic()
            code, why = self.children.run(
                [*arguments, *self.code], self.places.cell(cell.name) / LOG, self.share.environment(slot)
            )
            state.seconds[stage] = round(state.seconds.get(stage, 0.0) + time.monotonic() - begun, 1)
            if code != 0:
                state.state, state.error = ("stopped", "") if code is None else ("failed", why)
                self.places.keep(cell, state)
                return None if code is None else why
        state.state, state.finished = "finished", datetime.now(UTC).isoformat(timespec="seconds")
        state.scored = self.places.scored(cell)
        self.places.keep(cell, state)
        return None

    def _stages(self, cell: Cell) -> list[tuple[str, list[str]]]:
        """What is left to do of a cell: commands by stage."""
        run = self.places.cell(cell.name)
        recipe, on = ["--recipe", str(run / EVALUATION)], ["--tasks", ",".join(cell.tasks)]
        settings = [*recipe, *on, "--seeds", str(cell.tuning_seeds), "--output", str(run)]
        if cell.model:
            return [("evaluate", ["evaluate", cell.model, *settings])]
        if self.places.is_trained(cell.name):
            return [("evaluate", ["evaluate", str(run), *settings])]
        if cell.origin:
            return [("evaluate", ["evaluate", str(self.places.cell(cell.origin)), *settings])]
        pretrain = ["pretrain", str(run / TRAINING), "--output", str(run)]
        return [("pretrain", pretrain), ("evaluate", ["evaluate", str(run), *settings])]

    def _standing(self) -> Standing:
        now = time.monotonic()
        return Standing(
            done=len(self.done),
            total=len(self.outcome.cells),
            running=tuple(cell.name for cell, _, _ in self.running.values()),
            failed=tuple(self.outcome.failed),
            left=time_left(
                self.done,
                [(cell.system, now - begun) for cell, _, begun in self.running.values()],
                [cell.system for cell in self.waiting],
                self.share.jobs,
            ),
        )


def _seconds(cell: Cell, places: Places) -> tuple[str, float]:
    return cell.system, sum(places.state(cell).seconds.values())


def time_left(
    finished: Sequence[tuple[str, float]], running: Sequence[tuple[str, float]], waiting: Sequence[str], jobs: int
) -> float | None:
    """Seconds that are left, None where nothing is finished yet.

    Args:
        finished: system and seconds of each finished cell; a system that has none takes as long as the mean of all.
        running: system and seconds so far.
        waiting: systems of the cells that wait.
        jobs: cells at once.
    """
    if not finished:
        return None
    by_system: dict[str, list[float]] = {}
    for system, seconds in finished:
        by_system.setdefault(system, []).append(seconds)
    mean = {system: sum(each) / len(each) for system, each in by_system.items()}
    usual = sum(seconds for _, seconds in finished) / len(finished)
    rest = [max(0.0, mean.get(system, usual) - seconds) for system, seconds in running]
    total = sum(rest) + sum(mean.get(system, usual) for system in waiting)
    return max([total / jobs, *rest])


def _told(share: Share) -> str:
    threads = f"{share.threads} thread{'s' if share.threads > 1 else ''} each"
    gpus = f", on GPUs {', '.join(share.gpus)}" if share.gpus else ""
    return f"{share.jobs} at a time, {threads}{gpus}"
