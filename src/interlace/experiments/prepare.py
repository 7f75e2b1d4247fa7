"""Build the data of a recipe by several workers."""

import json
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

ArtifactId = tuple[str, str]  # kind and hash


def prepare(
    recipe: Recipe, workers: Callable[[], Executor], progress: Progress = no_progress
) -> Workspace:
    """Build the artifacts of a recipe by the workers of an executor, and open them; as `Workspace.open`, byte for byte.

    Each artifact is a task: each corpus, of one in several files each file, and the word alignments and phrases of each
    corpus. What is finished is in the cache, so the same call resumes a killed one. Workers need the same files and
    the same cache folder.

    workers: opens an executor.

    Raises:
        RunError: a worker is killed.
    """
    workspace = Workspace(recipe)
    recipe_json = json.dumps(recipe.dump())
    try:
        with workers() as executor:
            _run(recipe_json, _by_id(workspace), executor, progress)
    except _lost_workers() as error:
        raise RunError(
            "a worker was killed, possibly for lack of memory; rerun with fewer workers to resume"
        ) from error
    return workspace.open()


def _run(
    recipe_json: str,
    tasks: dict[ArtifactId, Artifact[Any]],
    executor: Executor,
    progress: Progress,
) -> None:
    """Build artifacts, each as soon as those that it needs are."""
    waiting: dict[ArtifactId, set[ArtifactId]] = {}
    for task, artifact in tasks.items():
        waiting[task] = {(needed.kind, needed.id) for needed in artifact.needs()}
    done: set[ArtifactId] = set()
    running: dict[Future[None], ArtifactId] = {}
    try:
        while waiting or running:
            ready = [task for task, needs in waiting.items() if needs <= done]
            for task in ready:
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
    recipe = Recipe.read(json.loads(recipe_json))
    return _by_id(Workspace(recipe))


def _by_id(workspace: Workspace) -> dict[ArtifactId, Artifact[Any]]:
    artifacts = {}
    for artifact in workspace.artifacts():
        artifacts[artifact.kind, artifact.id] = artifact
    return artifacts
