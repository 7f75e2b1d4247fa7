"""Contamination: development and test text of a recipe's tasks that occurs in a model's pre-training text."""

import json
import logging
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from interlace.core.errors import InterlaceError
from interlace.core.json_files import JsonObject, json_record, read_json, write_json
from interlace.data.contamination import HeldOutSet, find_contamination
from interlace.data.filters import sides
from interlace.data.findings import RowNames
from interlace.experiments.data_root import data_key, data_root
from interlace.experiments.recipe import Recipe, resolve_task
from interlace.experiments.run import Lineage
from interlace.tasks.common.files import MissingDataError
from interlace.text import Text
from interlace.training.predictions import hashed

log = logging.getLogger(__name__)

CONTAMINATION = "contamination.json"
_VERSION = 3  # of the rules for equal text


def held_out_sets(recipe: Recipe, tasks: Sequence[str] = ()) -> list[HeldOutSet]:
    """Return the development and test sets of a recipe's tasks that are running text.

    Development sets and test sets in the source language are optional. Other sets that cannot be read are logged.
    """
    sets = []
    root = data_root(recipe)
    settings = recipe.evaluate
    for name in tasks or settings.tasks:
        task = resolve_task(recipe, name)
        targets = task.targets or settings.targets or recipe.languages
        languages = dict.fromkeys([settings.source, *targets])
        for split, language in product(("dev", "test"), languages):
            try:
                chunks = task.texts(split, language, root)
            except InterlaceError as error:
                is_optional = split == "dev" or language == settings.source
                if not (is_optional and isinstance(error, MissingDataError)):
                    log.warning("contamination is not checked for this text: %s", error)
                continue
            if chunks:
                sets.append(
                    HeldOutSet(
                        name,
                        split,
                        language,
                        chunks,
                    )
                )
    return sets


@json_record
class _StoredSet(TypedDict):
    key: str
    split: str
    task: str
    language: str
    exact: float
    ngram: float


def stored_contamination(
    folder: Path, trained: Recipe, evaluated: Recipe, tasks: Sequence[str] = ()
) -> list[JsonObject]:
    """Return the contamination of test sets as plain data; store that of all sets in `contamination.json`.

    Results of unchanged held-out text are reused; all other sets share one pass over the training text. `unknown` names
    public checkpoints in the model's lineage, whose training text is unknown.
    """
    lineage = Lineage.of(trained)
    path = folder / CONTAMINATION
    stored: JsonObject = read_json(
        path,
        dict[str, _StoredSet],
        {},
        remedy="remove it to search again",
    )
    keys: dict[str, str] = {}
    changed = []
    for held_out in held_out_sets(evaluated, tasks):
        name = str(held_out)
        keys[name] = _key(lineage.recipes, held_out)
        if name not in stored or stored[name]["key"] != keys[name]:
            changed.append(held_out)
    if changed:
        names = ", ".join(dict.fromkeys(held_out.name for held_out in changed))
        log.info(
            "searching the training text of %s for held-out text of %s",
            trained.name,
            names,
        )
        for result in find_contamination(training_text(trained), changed):
            name = str(result.held_out)
            stored[name] = {"key": keys[name], **result.dump()}
        write_json(path, stored)
    rows = [stored[name] for name in keys]
    for row in rows:
        if row["exact"] >= 1.0:
            log.warning(
                "%s (%s): %.3g %% of the %s examples occur verbatim in the training text of %s (%s)",
                row["task"], row["language"], row["exact"], row["split"],
                trained.name, path,
            )  # fmt: skip
    unknown = {"unknown": lineage.unknown} if lineage.unknown else {}
    return [row | unknown for row in rows if row["split"] == "test"]


def training_text(recipe: Recipe) -> Iterator[tuple[Text, RowNames]]:
    """Yield all training text of a recipe in chunks, before filters: both sides of translations.

    The text of the runs that it continues follows under their names; text shared by several runs comes once.
    """
    seen = []
    for ancestor in Lineage.of(recipe).recipes:
        root = data_root(ancestor)
        prefix = "" if ancestor is recipe else f"{ancestor.name}: "
        for name, group in ancestor.corpora.items():
            source = (root, group.model_copy(update={"dev": []}))
            if source in seen:
                continue
            seen.append(source)
            for corpus in group.trained:
                names = RowNames(f"{prefix}{name} {corpus}:")
                paths = group.files("train", corpus, root)
                for chunk in group.reading().read_chunks(paths, corpus.split("-")):
                    for text in sides(chunk):
                        yield text, names
                    names = names.after(len(chunk))


def _key(recipes: Sequence[Recipe], held_out: HeldOutSet) -> str:
    """Return a hash of everything that the result depends on, except the contents of training files.

    recipes: of the run, and of those that it continues.
    """
    content: list[Any] = [_VERSION]
    for recipe in recipes:
        content.append([recipe.dump()["corpora"], data_key(recipe)])
    for chunk in held_out.chunks:
        content.append([[text.language, text.lines] for text in sides(chunk)])
    return hashed([json.dumps(content, sort_keys=True)])
