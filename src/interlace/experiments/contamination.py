"""Contamination: development and test text of a recipe's tasks that occurs in a model's pre-training text."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from interlace.core.errors import InterlaceError
from interlace.data.contamination import HeldOutSet, OverlapRules, find_contamination
from interlace.data.filters import sides
from interlace.experiments.lineage import Lineage
from interlace.experiments.prepare import data_key, data_root
from interlace.tasks.common.files import MissingDataError
from interlace.text import Text
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from interlace.data.contamination import Contamination
    from interlace.data.inspection import Where
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.tasks import Task

log = logging.getLogger(__name__)
CONTAMINATION = "contamination.json"
_HELD_OUT = ("dev", "test")
_WARN_AT = 1.0  # percent of the examples of a set
_VERSION = 2  # of the rules for equal text


class TaskSplit(NamedTuple):
    """A split of a task in one language."""

    task: str
    split: str
    language: str

    def __str__(self) -> str:
        return ".".join(self)


@dataclass(frozen=True)
class HeldOutText:
    """The held-out text of a recipe's tasks. unread: error messages of splits that could not be read."""

    sets: dict[TaskSplit, HeldOutSet]
    unread: dict[TaskSplit, str]


def held_out_text(recipe: Recipe, tasks: Sequence[str] = (), reported: Sequence[str] = ()) -> HeldOutText:
    """Return the development and test sets of a recipe's tasks that are running text.

    Development sets and test sets in the source language are optional. Other sets that cannot be read are logged as
    warnings, once, and only if their message is not part of `reported`.
    """
    found, root, settings = HeldOutText({}, {}), data_root(recipe), recipe.evaluate
    for name in tasks or settings.tasks:
        task = settings.task(name)
        languages = dict.fromkeys([settings.source, *(task.targets or settings.targets or recipe.languages)])
        for split in [TaskSplit(name, split, language) for split in _HELD_OUT for language in languages]:
            try:
                held = _held_out_set(split, task, root)
            except InterlaceError as error:
                optional = split.split != "test" or split.language == settings.source
                if not (optional and isinstance(error, MissingDataError)):
                    if not any(str(error) in message for message in (*reported, *found.unread.values())):
                        log.warning("contamination is not checked for held-out text that cannot be read: %s", error)
                    found.unread[split] = str(error)
                continue
            if held is not None:
                found.sets[split] = held
    return found


def contamination_of(
    trained: Recipe, sets: Mapping[TaskSplit, HeldOutSet], rules: OverlapRules | None = None
) -> dict[TaskSplit, Contamination]:
    """Search the training text of `trained`, and of the runs that it continues, for held-out text in one pass.

    Raises:
        DataError: a training file is missing or damaged.
    """
    return dict(zip(sets, find_contamination(training_text(trained), sets.values(), rules), strict=True))


def stored_contamination(
    folder: Path, trained: Recipe, evaluated: Recipe, tasks: Sequence[str] = (), reported: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the contamination of test sets as plain data; store that of all sets in `contamination.json`.

    Results of unchanged held-out text are reused; all other sets share one pass over the training text. Sets that
    could not be read are stored as `unread` and tried again by the next call. `unknown` names public checkpoints in the
    model's lineage, whose training text is unknown.

    Raises:
        DataError: as `contamination_of`.
    """
    held = held_out_text(evaluated, tasks, reported)
    stored: dict[str, Any] = read_json(folder / CONTAMINATION, {}).get("sets", {})
    lineage = Lineage.of(trained)
    keys = {split: _key(lineage.recipes, held_out) for split, held_out in held.sets.items()}
    new = {split: of for split, of in held.sets.items() if stored.get(str(split), {}).get("key") != keys[split]}
    if new:
        names = ", ".join(dict.fromkeys(split.task for split in new))
        log.info("searching the training text of %s for held-out text of %s", trained.name, names)
        for split, result in contamination_of(trained, new).items():
            stored[str(split)] = {"key": keys[split], "split": split.split, **result.dump()}
    if new or held.unread:
        unread = {str(split): message for split, message in held.unread.items()}
        write_json(folder / CONTAMINATION, {"sets": stored, "unread": unread})
    found = [stored[str(split)] for split in held.sets]
    for row in found:
        if row["exact"] >= _WARN_AT:
            log.warning(
                "%s (%s): %.3g %% of the %s examples occur verbatim in the training text of %s (%s)",
                row["task"], row["language"], row["exact"], row["split"], trained.name, folder / CONTAMINATION,
            )  # fmt: skip
    unknown = {"unknown": lineage.unknown} if lineage.unknown else {}
    return [{**row, **unknown} for row in found if row["split"] == "test"]


def training_text(recipe: Recipe) -> Iterator[tuple[Text, Where]]:
    """Yield all training text of a recipe in chunks, before filters: both sides of translations.

    The text of the runs that it continues follows under their names; text shared by several runs comes once.
    """
    seen = set()
    for each in Lineage.of(recipe).recipes:
        root, prefix = data_root(each), "" if each is recipe else f"{each.name}: "
        for name, group in each.corpora.items():
            source = json.dumps([str(root), group.model_copy(update={"dev": []}).dump()], sort_keys=True)
            for corpus in () if source in seen else group.trained:
                yield from _corpus(f"{prefix}{name} {corpus}", group, corpus, root)
            seen.add(source)


def _corpus(name: str, group: CorpusGroup, corpus: str, root: Path) -> Iterator[tuple[Text, Where]]:
    paths, first = group.files("train", corpus, root), 0
    for chunk in group.reading().read_chunks(paths, corpus.split("-")):
        texts = list(sides(chunk))
        for text in texts:
            yield text, partial(_place, name, first)
        first += len(texts[0])


def _place(corpus: str, first: int, row: int) -> str:
    return f"{corpus}:{first + row + 1}"


def _held_out_set(split: TaskSplit, task: Task, root: Path) -> HeldOutSet | None:
    """Return the text of a split; None if there is none.

    The parts of pairs are `first` and `second`. Sentences have the part `text`, or the language where they are in
    several; each sentence is then an example with one part.
    """
    chunks = task.texts(split.split, split.language, root)
    alone = len({chunk.language for chunk in chunks if isinstance(chunk, Text)}) == 1
    parts: dict[str, list[str]] = {}
    languages: dict[str, str] = {}
    rows = 0
    for chunk in chunks:
        names = ("text" if alone else chunk.language,) if isinstance(chunk, Text) else ("first", "second")
        for part, side in zip(names, sides(chunk), strict=True):
            languages.setdefault(part, side.language)
            lines = parts.setdefault(part, [])
            lines += [""] * (rows - len(lines)) + list(side.lines)
        rows += len(chunk)
    filled = {part: lines + [""] * (rows - len(lines)) for part, lines in parts.items()}
    return HeldOutSet(split.task, split.language, filled, languages) if chunks else None


def _key(recipes: Sequence[Recipe], held: HeldOutSet) -> str:
    """Return a hash of everything that the result depends on, except the contents of training files.

    recipes: of the run, and of those that it continues.
    """
    own, *before = (
        {"text": {key: group.dump() for key, group in each.corpora.items()}, "root": data_key(each)} for each in recipes
    )
    content = {"version": _VERSION, **own, "held out": [dict(held.parts), dict(held.languages)]}
    content |= {"before": before} if before else {}
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
