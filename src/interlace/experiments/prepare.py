"""Build the data of a recipe by several workers."""

import json
import logging
import sys
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from functools import lru_cache
from typing import Any

from interlace.core.errors import RunError
from interlace.core.progress import Progress, no_progress
from interlace.data.artifacts import Artifact
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace

log = logging.getLogger(__name__)
_ATTEMPTS = 5  # to finish tasks of killed workers

ArtifactId = tuple[str, str]  # kind and hash


def prepare(
    recipe: Recipe, workers: Callable[[], Executor], progress: Progress = no_progress
) -> Workspace:
    """Build the artifacts of a recipe by the workers of an executor, and open them; as `Workspace.open`, byte for byte.

    Each artifact is a task: each corpus, of one in several files each file, and the word alignments and phrases of each
    corpus. What is finished is in the cache, so the same call resumes a killed one. Workers need the same files and
    the same cache folder.

    workers: opens an executor; opened again after a worker was killed, to repeat the tasks that were running.

    Raises:
        RunError: workers are killed again and again.
    """
    workspace = Workspace(recipe)
    tasks = {(artifact.kind, artifact.id): artifact for artifact in workspace.artifacts()}
    done: set[ArtifactId] = set()
    for _ in range(_ATTEMPTS):
        with workers() as executor:
            try:
                _run(json.dumps(recipe.dump()), tasks, done, executor, progress)
                return workspace.open()
            except _lost_workers():
                log.warning("a worker was killed; running its task again")
    raise RunError(
        f"workers were killed {_ATTEMPTS} times, possibly for lack of memory; use fewer workers"
    )


def _run(
    recipe_json: str,
    tasks: dict[ArtifactId, Artifact[Any]],
    done: set[ArtifactId],
    executor: Executor,
    progress: Progress,
) -> None:
    """Build the artifacts that are not `done`, each as soon as those that it needs are, and add them to `done`."""
    waiting = {
        task: {(need.kind, need.id) for need in tasks[task].needs()}
        for task in tasks
        if task not in done
    }
    running: dict[Future[None], ArtifactId] = {}
    try:
        while waiting or running:
            for task in [task for task, needs in waiting.items() if needs <= done]:
                running[executor.submit(build_artifact, recipe_json, *task)] = task
                del waiting[task]
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done.add(running.pop(future))
                progress("preparing", len(done), len(tasks))
    except BaseException:
        for future in running:
            future.cancel()
        raise


def _lost_workers() -> tuple[type[BaseException], ...]:
    """Return the errors of an executor whose worker was killed."""
    if "distributed" in sys.modules:
        return BrokenExecutor, sys.modules["distributed"].KilledWorker
    return (BrokenExecutor,)


def build_artifact(recipe_json: str, kind: str, artifact_id: str) -> None:
    """Build one artifact of a recipe in a worker; nothing is left to do for one that another process has built."""
    artifact = _artifacts(recipe_json).get((kind, artifact_id))
    if artifact is not None:
        artifact.ensure_built()


@lru_cache(maxsize=1)
def _artifacts(recipe_json: str) -> dict[ArtifactId, Artifact[Any]]:
    workspace = Workspace(Recipe.read(json.loads(recipe_json)))
    return {(artifact.kind, artifact.id): artifact for artifact in workspace.artifacts()}
