"""Contamination: development and test text of a recipe's tasks that occurs in a model's pre-training text."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from interlace.core.data_root import Root
from interlace.core.errors import DataError, InterlaceError
from interlace.core.json_files import json_record, read_json, write_json
from interlace.data.contamination import Contamination, HeldOutSet, find_contamination
from interlace.data.filters import sides
from interlace.data.inspection import RowName
from interlace.experiments.data_root import data_key, data_root
from interlace.experiments.recipe import Recipe, resolve_task
from interlace.experiments.run import Lineage
from interlace.tasks import Task
from interlace.tasks.common.files import MissingDataError
from interlace.text import Text

log = logging.getLogger(__name__)

CONTAMINATION = "contamination.json"
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

    sets: dict[TaskSplit, HeldOutSet] = field(default_factory=dict)
    unread: dict[TaskSplit, str] = field(default_factory=dict)


def held_out_text(recipe: Recipe, tasks: Sequence[str] = ()) -> HeldOutText:
    """Return the development and test sets of a recipe's tasks that are running text.

    Development sets and test sets in the source language are optional. Other sets that cannot be read are logged.
    """
    held_out = HeldOutText()
    root = data_root(recipe)
    settings = recipe.evaluate
    for name in tasks or settings.tasks:
        task = resolve_task(recipe, name)
        targets = task.targets or settings.targets or recipe.languages
        languages = dict.fromkeys([settings.source, *targets])
        for part, language in product(("dev", "test"), languages):
            split = TaskSplit(name, part, language)
            is_optional = part == "dev" or language == settings.source
            try:
                held_out_set = _held_out_set(split, task, root)
            except InterlaceError as error:
                if not (is_optional and isinstance(error, MissingDataError)):
                    held_out.unread[split] = str(error)
                continue
            if held_out_set is not None:
                held_out.sets[split] = held_out_set
    for message in dict.fromkeys(held_out.unread.values()):
        log.warning("contamination is not checked for text that cannot be read: %s", message)
    return held_out


def contamination_of(
    trained: Recipe, sets: Mapping[TaskSplit, HeldOutSet]
) -> dict[TaskSplit, Contamination]:
    """Search the training text of `trained`, and of the runs that it continues, for held-out text in one pass."""
    return dict(zip(sets, find_contamination(training_text(trained), sets.values()), strict=True))


@json_record
class _StoredSet(TypedDict):
    key: str
    split: str
    task: str
    language: str
    examples: int
    exact: float
    ngram: float


@json_record
class _StoredSets(TypedDict):
    """The content of `contamination.json`."""

    sets: dict[str, _StoredSet]


def stored_contamination(
    folder: Path,
    trained: Recipe,
    evaluated: Recipe,
    tasks: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the contamination of test sets as plain data; store that of all sets in `contamination.json`.

    Results of unchanged held-out text are reused; all other sets share one pass over the training text. Sets that
    could not be read are stored as `unread` and tried again by the next call. `unknown` names public checkpoints in the
    model's lineage, whose training text is unknown.
    """
    held_out = held_out_text(evaluated, tasks)
    lineage = Lineage.of(trained)
    stored = _read_stored(folder)
    keys: dict[TaskSplit, str] = {}
    changed: dict[TaskSplit, HeldOutSet] = {}
    for split, held_out_set in held_out.sets.items():
        keys[split] = _key(lineage.recipes, held_out_set)
        if stored.get(str(split), {}).get("key") != keys[split]:
            changed[split] = held_out_set
    if changed:
        names = ", ".join(dict.fromkeys(split.task for split in changed))
        log.info("searching the training text of %s for held-out text of %s", trained.name, names)
        for split, result in contamination_of(trained, changed).items():
            stored[str(split)] = {"key": keys[split], "split": split.split, **result.dump()}
    if changed or held_out.unread:
        unread = {str(split): message for split, message in held_out.unread.items()}
        write_json(folder / CONTAMINATION, {"sets": stored, "unread": unread})
    rows = [stored[str(split)] for split in held_out.sets]
    for row in rows:
        if row["exact"] >= 1.0:
            log.warning(
                "%s (%s): %.3g %% of the %s examples occur verbatim in the training text of %s (%s)",
                row["task"], row["language"], row["exact"], row["split"],
                trained.name, folder / CONTAMINATION,
            )  # fmt: skip
    unknown = {"unknown": lineage.unknown} if lineage.unknown else {}
    return [row | unknown for row in rows if row["split"] == "test"]


def _read_stored(folder: Path) -> dict[str, Any]:
    """Return the stored contamination by split; empty if there is none or it is damaged."""
    try:
        return dict(read_json(folder / CONTAMINATION, _StoredSets, {}).get("sets", {}))
    except DataError as error:
        log.warning("%s; searching again", error)
        return {}


def training_text(recipe: Recipe) -> Iterator[tuple[Text, RowName]]:
    """Yield all training text of a recipe in chunks, before filters: both sides of translations.

    The text of the runs that it continues follows under their names; text shared by several runs comes once.
    """
    seen = set()
    for ancestor in Lineage.of(recipe).recipes:
        root = data_root(ancestor)
        prefix = "" if ancestor is recipe else f"{ancestor.name}: "
        for name, group in ancestor.corpora.items():
            content = [repr(root), group.model_copy(update={"dev": []}).dump()]
            source = json.dumps(content, sort_keys=True)
            if source in seen:
                continue
            seen.add(source)
            for corpus in group.trained:
                first = 0
                paths = group.files("train", corpus, root)
                for chunk in group.reading().read_chunks(paths, corpus.split("-")):
                    for text in sides(chunk):
                        yield text, partial(_row_name, f"{prefix}{name} {corpus}", first)
                    first += len(chunk)


def _row_name(corpus: str, first: int, row: int) -> str:
    return f"{corpus}:{first + row + 1}"


def _held_out_set(split: TaskSplit, task: Task, root: Root) -> HeldOutSet | None:
    """Return the text of a split; None if there is none.

    The parts of pairs are `first` and `second`. Sentences have the part `text`, or the language where they are in
    several; each sentence is then an example with one part.
    """
    chunks = task.texts(split.split, split.language, root)
    if not chunks:
        return None
    is_monolingual = len({chunk.language for chunk in chunks if isinstance(chunk, Text)}) == 1
    parts: dict[str, list[str]] = {}
    languages: dict[str, str] = {}
    rows = 0
    for chunk in chunks:
        names = ["first", "second"]
        if isinstance(chunk, Text):
            names = ["text" if is_monolingual else chunk.language]
        for part, side in zip(names, sides(chunk), strict=True):
            languages.setdefault(part, side.language)
            lines = parts.setdefault(part, [])
            lines += [""] * (rows - len(lines))
            lines += side.lines
        rows += len(chunk)
    for lines in parts.values():
        lines.extend([""] * (rows - len(lines)))
    return HeldOutSet(split.task, split.language, parts, languages)


def _key(recipes: Sequence[Recipe], held_out: HeldOutSet) -> str:
    """Return a hash of everything that the result depends on, except the contents of training files.

    recipes: of the run, and of those that it continues.
    """
    texts = []
    for recipe in recipes:
        corpora = {name: group.dump() for name, group in recipe.corpora.items()}
        texts.append({"text": corpora, "root": data_key(recipe)})
    content = {
        "version": _VERSION,
        **texts[0],
        "held out": [dict(held_out.parts), dict(held_out.languages)],
    }
    if texts[1:]:
        content["before"] = texts[1:]
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
