"""Test text of a recipe's tasks in the text that a model was pre-trained on, kept with the run."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any

from interlace.data.filters._sides import sides
from interlace.data.overlap import Grams, TestSet, leaks
from interlace.errors import InterlaceError
from interlace.readers import READERS
from interlace.recipes.prepare import data_root
from interlace.tasks._texts import raw_text
from interlace.train.folder import read_json, write_json
from interlace.world import world_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from interlace.data.overlap import Leak, Where
    from interlace.recipes import CorpusGroup, Recipe
    from interlace.text import Text

log = logging.getLogger(__name__)

LEAKS = "leaks.json"
_MUCH = 1.0  # percent of the examples: a score that rests on it says little of what was learnt
_VERSION = 1  # of what counts as the same text


def find_leaks(trained: Recipe, asked: Recipe, tasks: Sequence[str] = (), grams: Grams | None = None) -> list[Leak]:
    """How much of the test sets of `asked` stands in the training text of `trained`, by task and language.

    tasks: names; none: those of `asked`. What has no running text, such as word lists, is left out.

    Raises:
        DataError: a training file is missing or damaged. A test set that cannot be read is left out;
            scoring it says why.
    """
    return leaks(training_text(trained), held_out(asked, tasks), grams)


def kept_leaks(folder: Path, trained: Recipe, asked: Recipe, tasks: Sequence[str] = ()) -> list[dict[str, Any]]:
    """`find_leaks` as plain data from the run's `leaks.json`, which is written where it holds no answer yet.

    One reading of the training text answers for all tasks that are still open.
    """
    kept: dict[str, Any] = read_json(folder / LEAKS, {})
    names = list(tasks or asked.evaluate.tasks)
    keys = {name: _key(trained, asked, name) for name in names}
    open_ = [name for name in names if kept.get(name, {}).get("key") != keys[name]]
    if open_:
        log.info("looking for test text of %s in the training text of %s", ", ".join(open_), trained.name)
        found = [leak.dump() for leak in find_leaks(trained, asked, open_)]
        for name in open_:
            kept[name] = {"key": keys[name], "leaks": [leak for leak in found if leak["task"] == name]}
        write_json(folder / LEAKS, kept)
    found = [leak for name in names for leak in kept[name]["leaks"]]
    for leak in found:
        if leak["exact"] >= _MUCH:
            log.warning(
                "%s (%s): a text of %.3g %% of the test examples stands whole in the training text of %s (%s)",
                leak["task"], leak["language"], leak["exact"], trained.name, folder / LEAKS,
            )  # fmt: skip
    return found


def held_out(recipe: Recipe, tasks: Sequence[str] = ()) -> Iterator[TestSet]:
    """The test sets of a recipe's tasks that are running text."""
    root = data_root(recipe)
    settings = recipe.evaluate
    for name in tasks or settings.tasks:
        task = settings.task(name)
        targets = getattr(task, "targets", None) or settings.targets or recipe.languages
        for language in dict.fromkeys([settings.source, *targets]):
            try:
                raw = raw_text(name, task, "test", language, root)
            except InterlaceError as error:
                log.debug("%s: no test text in %s to compare: %s", name, language, error)
                continue
            if raw is not None and raw.parts:
                parts = {part: lines for part, (_, lines) in raw.parts.items()}
                yield TestSet(name, language, parts, {part: of for part, (of, _) in raw.parts.items()})


def training_text(recipe: Recipe) -> Iterator[tuple[Text, Where]]:
    """All training text of a recipe in chunks, both sides of translations, as it is before filters."""
    root = data_root(recipe)
    for name, group in recipe.corpora.items():
        for corpus in [*group.languages, *group.pairs]:
            yield from _corpus(name, group, corpus, root)


def _corpus(name: str, group: CorpusGroup, corpus: str, root: Path) -> Iterator[tuple[Text, Where]]:
    paths, row = group.files("train", corpus, root), 0
    for chunk in READERS.build(group.reader).read_chunks(paths, corpus.split("-")):
        texts = list(sides(chunk))
        for text in texts:
            yield text, _places(f"{name} {corpus}", row)
        row += len(texts[0])


def _places(corpus: str, first: int) -> Where:
    return lambda row: f"{corpus}:{first + row + 1}"


def _key(trained: Recipe, asked: Recipe, name: str) -> str:
    """Names all that the answer hangs on but for the contents of files."""
    content = {
        "version": _VERSION,
        "text": {key: group.dump() for key, group in trained.corpora.items()},
        "roots": [[recipe.world.dump(), world_version()] if recipe.world else str(data_root(recipe))
                  for recipe in (trained, asked)],
        "task": asked.evaluate.task(name).dump(),
        "languages": [asked.evaluate.source, asked.evaluate.targets, asked.languages],
    }  # fmt: skip
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
