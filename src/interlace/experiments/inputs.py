"""Find the files that a recipe reads and that are missing, before work starts.

Pre-training, studies, `interlace check` and dry runs ask here, so that all of them agree. Nothing is read but the names
of files, and the originals of derived languages, which are derived first.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interlace.aligners import Aligner
from interlace.core.data_root import Root
from interlace.core.errors import DataError, InterlaceError
from interlace.core.files import must_exist
from interlace.experiments.alignments import aligner_files, aligner_of
from interlace.experiments.data_root import data_root
from interlace.experiments.lexicons import check_dictionary, vector_dictionaries
from interlace.experiments.recipe import Recipe, resolve_task
from interlace.experiments.sections import EmbeddingSettings
from interlace.models.checkpoint_files import find_checkpoint
from interlace.models.settings import ModelSettings
from interlace.readers import is_hub
from interlace.training.selection import runs_of_task, sets_read

log = logging.getLogger(__name__)
_MAX_LISTED = 10  # messages of an error


@dataclass(frozen=True)
class MissingInputs:
    """What is missing: a message each, which begins with the recipe's key.

    training: of pre-training. evaluation: of tasks.
    """

    training: list[str] = field(default_factory=list)
    evaluation: list[str] = field(default_factory=list)


def missing_inputs(
    recipe: Recipe, tasks: Sequence[str] | None = None, *, training: bool = True
) -> MissingInputs:
    """Find the missing files and checkpoints of a recipe; toy corpus and derived languages are written if needed.

    tasks: to evaluate; default: all of the recipe. training: False to look at the evaluation alone.
    """
    missing = MissingInputs()
    if recipe.data_root is None and recipe.toy is None and not training:
        return missing  # --data of `evaluate` may still name it
    if tasks is None:
        tasks = list(recipe.evaluate.tasks)
    errors = missing.evaluation
    if training:
        errors = missing.training
    with _noting(errors):
        root = data_root(recipe)
        if training:
            _check_training(recipe, root, missing.training)
        for name in tasks:
            _check_task(recipe, name, root, missing.evaluation)
    if training:
        _check_starts(recipe.model, missing.training)
    return missing


def check_inputs(recipe: Recipe) -> None:
    """Raise a DataError that lists the first missing files of training text, alignment and dictionaries."""
    messages: list[str] = []
    _check_training(recipe, data_root(recipe), messages)
    if messages:
        raise DataError("\n  ".join(messages[:_MAX_LISTED]))


@contextmanager
def _noting(messages: list[str], key: str = "") -> Iterator[None]:
    """Add the message of an error, after the recipe's key, to `messages`."""
    try:
        yield
    except InterlaceError as error:
        message = f"{key}: {error}" if key else str(error)
        if message not in messages:
            messages.append(message)


_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def _check_starts(model: ModelSettings, messages: list[str]) -> None:
    """Note the folders to start from that are missing; names of the hub are not checked."""
    starts = {"model.start": model.start}
    if model.decoder is not None:
        starts["model.decoder.start"] = model.decoder.start
    for key, start in starts.items():
        if start and (Path(start).exists() or not _HUB_NAME.fullmatch(start)):
            with _noting(messages, key):
                find_checkpoint(start)


def _check_training(recipe: Recipe, root: Root, messages: list[str]) -> None:
    """Note the missing files of corpora, word alignment, and dictionaries and vectors to learn from."""
    # vectors read no held-out text
    splits = ["train"] if recipe.embeddings else ["train", "dev"]
    for split in splits:
        for label, corpus in recipe.corpora_in(split).values():
            with _noting(messages, f"corpora.{label}.{split}"):
                for path in recipe.corpora[label].files(split, corpus, root):
                    if not is_hub(path):
                        must_exist(path)
    for name, (_, corpus) in recipe.corpora_in("train").items():
        if recipe.annotations(name) - {"text"}:
            _check_aligner(aligner_of(recipe, corpus, root), messages)
    for name in recipe.objectives:
        with _noting(messages):
            check_dictionary(recipe, name, root)
    if recipe.embeddings is not None:
        _check_embeddings(recipe.embeddings, recipe.languages, root, messages)


def _check_aligner(aligner: Aligner, messages: list[str]) -> None:
    for setting, path in aligner_files(aligner).items():
        with _noting(messages, f"align.{setting}"):
            must_exist(path)


def _check_embeddings(
    settings: EmbeddingSettings, languages: list[str], root: Root, messages: list[str]
) -> None:
    """Note the missing files of vectors and dictionaries to learn from."""
    if settings.vectors is not None:
        for language in languages:
            with _noting(messages, "embeddings.vectors"):
                must_exist(root / settings.vectors.format(language=language))
    with _noting(messages):
        vector_dictionaries(settings, languages, root)


def _check_task(recipe: Recipe, name: str, root: Root, messages: list[str]) -> None:
    """Note the sets of a task that have no files."""
    key = f"evaluate.tasks.{name}"
    source = recipe.evaluate.source
    task = resolve_task(recipe, name)
    for run in runs_of_task(task, source, recipe.targets):
        with _noting(messages, key):
            for read in sets_read(task, source, run):
                with _noting(messages, key):
                    read.task.read_files(read.split, read.language, root)
