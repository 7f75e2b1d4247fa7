"""Held-out text of a recipe's tasks in the text that a model was pre-trained on, kept with the run."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from interlace.core.errors import InterlaceError
from interlace.data.contamination import HeldOutSet, OverlapRules, find_contamination
from interlace.data.filters.common import sides
from interlace.experiments.lineage import Ancestry
from interlace.experiments.prepare import data_key, data_root
from interlace.tasks.common.files import MissingDataError
from interlace.tasks.common.reading import raw_text
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from interlace.data.contamination import Contamination
    from interlace.data.inspection import Where
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.tasks.common.reading import RawText
    from interlace.text import Text

log = logging.getLogger(__name__)
LEAKS = "leaks.json"
_HELD_OUT = ("dev", "test")
_MUCH = 1.0  # percent of the examples: a score that rests on it says little of what was learnt
_VERSION = 2  # of what counts as the same text


class Place(NamedTuple):
    """What is held out: a split of a task in one language."""

    task: str
    split: str
    language: str

    def __str__(self) -> str:
        return ".".join(self)


@dataclass(frozen=True)
class HeldOut:
    """The held-out text of a recipe's tasks. unread: what is wrong with that which could not be read."""

    sets: dict[Place, HeldOutSet]
    unread: dict[Place, str]


def held_out(recipe: Recipe, tasks: Sequence[str] = (), told: Sequence[str] = ()) -> HeldOut:
    """The development and test sets of a recipe's tasks that are running text.

    Without a development set, or a test set in the source language, a task may do. Anything else that cannot be read is
    told as a warning, once and where it is not among what was `told` already.
    """
    found, root, settings = HeldOut({}, {}), data_root(recipe), recipe.evaluate
    for name in tasks or settings.tasks:
        task = settings.task(name)
        languages = dict.fromkeys([settings.source, *(task.targets or settings.targets or recipe.languages)])
        for place in [Place(name, split, language) for split in _HELD_OUT for language in languages]:
            try:
                raw = raw_text(task.texts(place.split, place.language, root))
            except InterlaceError as error:
                needless = place.split != "test" or place.language == settings.source
                if not (needless and isinstance(error, MissingDataError)):
                    if not any(str(error) in one for one in (*told, *found.unread.values())):
                        log.warning("held-out text that is not looked for in training text: %s", error)
                    found.unread[place] = str(error)
                continue
            if raw is not None:
                found.sets[place] = _as_set(place, raw)
    return found


def find_leaks(
    trained: Recipe, sets: Mapping[Place, HeldOutSet], rules: OverlapRules | None = None
) -> dict[Place, Contamination]:
    """How much of held-out text stands in the training text of `trained`, and of runs it goes on from; read once.

    Raises:
        DataError: a training file is missing or damaged.
    """
    return dict(zip(sets, find_contamination(training_text(trained), sets.values(), rules), strict=True))


def kept_leaks(
    folder: Path, trained: Recipe, asked: Recipe, tasks: Sequence[str] = (), told: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The leaks of test sets as plain data, those of development sets standing in the run's `leaks.json` beside them.

    What the file has of the same held-out text is taken from there; one reading of the training text answers for all
    that is new. What could not be read stands there as `unread`, and is tried again by the next call. `unknown` names
    models that the run goes on from of whose text nothing is known, where there are such.

    Raises:
        DataError: as `find_leaks`.
    """
    held = held_out(asked, tasks, told)
    kept: dict[str, Any] = read_json(folder / LEAKS, {}).get("sets", {})
    ancestry = Ancestry.of(trained)
    keys = {place: _key(ancestry.recipes, of) for place, of in held.sets.items()}
    new = {place: of for place, of in held.sets.items() if kept.get(str(place), {}).get("key") != keys[place]}
    if new:
        names = ", ".join(dict.fromkeys(place.task for place in new))
        log.info("looking for held-out text of %s in the training text of %s", names, trained.name)
        for place, leak in find_leaks(trained, new).items():
            kept[str(place)] = {"key": keys[place], "split": place.split, **leak.dump()}
    if new or held.unread:
        unread = {str(place): message for place, message in held.unread.items()}
        write_json(folder / LEAKS, {"sets": kept, "unread": unread})
    found = [kept[str(place)] for place in held.sets]
    _warn(found, trained, folder / LEAKS)
    unknown = {"unknown": ancestry.unknown} if ancestry.unknown else {}
    return [{**leak, **unknown} for leak in found if leak["split"] == "test"]


def _warn(found: list[dict[str, Any]], trained: Recipe, path: Path) -> None:
    for leak in found:
        if leak["exact"] >= _MUCH:
            log.warning(
                "%s (%s): a text of %.3g %% of the %s examples stands whole in the training text of %s (%s)",
                leak["task"], leak["language"], leak["exact"], leak["split"], trained.name, path,
            )  # fmt: skip


def _as_set(place: Place, raw: RawText) -> HeldOutSet:
    parts = {part: lines for part, (_, lines) in raw.parts.items()}
    return HeldOutSet(place.task, place.language, parts, {part: of for part, (of, _) in raw.parts.items()})


def training_text(recipe: Recipe) -> Iterator[tuple[Text, Where]]:
    """All training text of a recipe in chunks, both sides of translations, as it is before filters.

    That of runs that it goes on from follows, under their names; what several have read comes once.
    """
    met = set()
    for each in Ancestry.of(recipe).recipes:
        root, whose = data_root(each), "" if each is recipe else f"{each.name}: "
        for name, group in each.corpora.items():
            read = json.dumps([str(root), group.model_copy(update={"dev": []}).dump()], sort_keys=True)
            for corpus in () if read in met else group.trained:
                yield from _corpus(f"{whose}{name}", group, corpus, root)
            met.add(read)


def _corpus(name: str, group: CorpusGroup, corpus: str, root: Path) -> Iterator[tuple[Text, Where]]:
    paths, row = group.files("train", corpus, root), 0
    for chunk in group.reading().read_chunks(paths, corpus.split("-")):
        texts = list(sides(chunk))
        for text in texts:
            yield text, _places(f"{name} {corpus}", row)
        row += len(texts[0])


def _places(corpus: str, first: int) -> Where:
    return lambda row: f"{corpus}:{first + row + 1}"


def _key(trained: Sequence[Recipe], held: HeldOutSet) -> str:
    """Names all that the answer hangs on but for the contents of training files, which a run is done with.

    trained: the recipe of the run, and of those it goes on from.
    """
    own, *before = (
        {"text": {key: group.dump() for key, group in each.corpora.items()}, "root": data_key(each)} for each in trained
    )
    content = {"version": _VERSION, **own, "held out": [dict(held.parts), dict(held.languages)]}
    content |= {"before": before} if before else {}
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
