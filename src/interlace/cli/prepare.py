"""Prepare the data of a recipe, by several processes or on a cluster."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import typer

from interlace.cli import Code, RecipeName, load_plugins, notes, print_line
from interlace.cli.common.options import Changes, parse_changes


def prepare(
    recipe: RecipeName,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="Processes on this machine. Default: its processors."
        ),
    ] = None,
    scheduler: Annotated[
        str,
        typer.Option(
            "--scheduler", help="Use this Dask scheduler instead, such as tcp://host:8786."
        ),
    ] = "",
    changes: Changes = [],
    code: Code = [],
) -> None:
    """Build vocabulary, corpora, word alignments and phrases of a recipe, so that training starts at once.

    Everything is kept in the cache (INTERLACE_CACHE). Rerun the command to resume.
    """
    load_plugins(code)
    from interlace.core.bars import watching
    from interlace.core.errors import SettingsError
    from interlace.core.kernels import processors
    from interlace.experiments import prepare as preparation
    from interlace.experiments.recipe import read_recipe

    if scheduler and workers:
        raise SettingsError("--workers and --scheduler exclude each other")
    settings = read_recipe(recipe, parse_changes(changes))
    if scheduler:
        open_executor = _dask(scheduler, code)
    else:
        open_executor = _local(workers or processors(), code)
    with watching(notes) as progress:
        workspace = preparation.prepare(settings, open_executor, progress)
    for split in ("train", "dev"):
        for name, corpus in getattr(workspace, split).items():
            subwords = sum(corpus.counts["subwords"].values())
            print_line(
                f"{split:<5} {name}: {corpus.counts['rows']:,} rows, {subwords:,} subwords"
            )


def _end_with_parent() -> None:
    """Wait for the process that started this one, and exit; a killed one cannot tell its workers."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def start_worker(code: list[Path], threads: int | None = None) -> None:
    """Register plugins in a worker process, limit the threads of what it calls, and end it when its parent ends."""
    Thread(target=_end_with_parent, daemon=True).start()
    if threads is not None:
        for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
            os.environ[name] = str(threads)
    load_plugins(code)


def _start_local_worker(code: list[Path], threads: int) -> None:
    """Let Ctrl-C end this worker without a traceback, unless it is ignored as in a background job; `start_worker`."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    start_worker(code, threads)


def _local(workers: int, code: list[Path]) -> Callable[[], Executor]:
    from interlace.core.kernels import processors

    threads = max(1, processors() // workers)
    return lambda: ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_start_local_worker, initargs=(code, threads)
    )


def _dask(address: str, code: list[Path]) -> Callable[[], Executor]:
    from interlace.core.errors import RunError, dependency_errors

    with dependency_errors("--scheduler"):
        distributed: Any = import_module("distributed")
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise RunError(
            f"--scheduler {address}: no Dask scheduler answers there ({error})"
        ) from None
    if not client.scheduler_info()["workers"]:
        print_line(f"waiting for workers: the scheduler {address} has none yet", notes)
    client.wait_for_workers(1)
    client.run(start_worker, [path.resolve() for path in code])
    return lambda: client.get_executor(pure=False)
