"""Check the data of a recipe: each corpus, passes over the text, and contamination.

Contamination is development and test text of the recipe's tasks that occurs in a model's pre-training text.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from interlace.core.data_root import Root
from interlace.core.errors import DataError, InterlaceError
from interlace.core.json_files import json_record, read_json, write_json
from interlace.core.progress import Progress, no_progress
from interlace.data.contamination import Contamination, ContaminationCheck, HeldOutSet, find_contamination
from interlace.data.filters import build_filters, sides
from interlace.data.inspection import Finding, InspectionReport, Inspector, Level, Where
from interlace.experiments.data_root import data_key, data_root
from interlace.experiments.inputs import MissingInputs, missing_inputs
from interlace.experiments.recipe import Recipe
from interlace.experiments.records import Lineage
from interlace.experiments.texts import RecipeTexts
from interlace.tasks import Task
from interlace.tasks.common.files import MissingDataError
from interlace.text import Text, TextPairs
from interlace.text.scripts import UNSPACED, scripts_of

log = logging.getLogger(__name__)


def check_recipe(recipe: Recipe, progress: Progress = no_progress) -> list[InspectionReport]:
    """Inspect all corpora of a recipe, held-out text first; errors of files become findings."""
    missing = missing_inputs(recipe)
    if recipe.derived and missing.training:  # derived languages cannot be written
        return [InspectionReport("files", {}, [Finding("error", "missing", 1, 1, each) for each in missing.training])]
    root = data_root(recipe)
    texts = RecipeTexts(recipe, root)
    contamination = ContaminationCheck()
    dev_text: dict[tuple[str, str], list[str]] = {}  # by corpus and language
    rules = {rule.name: rule for rule in build_filters(recipe.filters)}
    inspector = Inspector(texts.word_tokenizer, rules, progress, partial(_unknown_script, recipe))

    def hold_out(name: str) -> Callable[[Text, Callable[[int], str]], None]:
        return lambda text, _where: dev_text.setdefault((name, text.language), []).extend(text.lines)

    files = InspectionReport("files", {}, list(_missing_files(missing)))
    reports = [files] if files.findings else []
    note = texts.word_tokenizer_note
    if note:
        reports.append(InspectionReport("words", {}, [Finding("note", "word tokenizer", 1, 1, note)]))
    for split in ("dev", "train"):
        if split == "train":
            for place, held in held_out_text(recipe).sets.items():
                contamination.hold_out(replace(held, name=f"{place.task} ({place.split})"))
            tests = len(contamination)
            for (name, language), lines in dev_text.items():
                contamination.hold_out(HeldOutSet(name, language, {"text": lines}))
        corpora = [(group, name, each) for name, group in recipe.corpora.items() for each in group.corpora_in(split)]
        for group, label, corpus in corpora:
            name = f"{label} {corpus} ({split})"
            observer = hold_out(name) if split == "dev" else contamination.search
            paths = group.files(split, corpus, root)
            languages = corpus.split("-")
            reports.append(inspector.inspect(name, group.reading(split), paths, languages, observer))
            if split == "train" and not reports[-1].failed:
                reports[-1].findings += _too_short(recipe, label, corpus, reports[-1].facts["sides"])
    results = enumerate(contamination.results())
    findings = [finding for number, found in results for finding in found.findings(ngrams=number < tests)]
    reports.append(InspectionReport("held-out text in training text", {"sets": len(contamination)}, findings))
    return reports


def _missing_files(missing: MissingInputs) -> Iterator[Finding]:
    """Yield a finding for each file that a run reads and that is missing; corpora have reports of their own."""
    for message in missing.training:
        if not message.startswith("corpora."):
            yield Finding("error", "missing", 1, 1, message)
    for message in missing.evaluation:
        yield Finding("warning", "missing, not evaluated", 1, 1, message)
    for message in missing.skipped:
        yield Finding("note", "missing, no plot of word vectors", 1, 1, message)


def _too_short(recipe: Recipe, label: str, corpus: str, facts: dict[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each objective that needs a longer text than this corpus for one sequence of running text.

    An error if a token for each character is too short, a warning if the estimated tokens are.
    """
    alone = any(group.languages and group.train for group in recipe.corpora.values())
    for name, entry in recipe.objectives.items():
        objective = recipe.objective(name)
        wanted = set(entry.corpora)
        if not objective.streams or objective.packed_length() is not None:
            continue
        for language, side in facts.items():
            if wanted:
                is_read = bool({label, corpus, f"{corpus}:{language}"} & wanted)
            else:
                is_read = corpus == language or not alone
            unspaced = scripts_of(language) & UNSPACED
            tokens = side["characters"] / (1.5 if unspaced else 4.5)  # estimated
            if is_read and tokens < objective.max_length - 2:
                about = f"some {tokens:.0f} tokens in {language!r}; lower objectives.{name}.max_length, or add text"
                level: Level
                if side["characters"] + 2 < objective.max_length:
                    level = "error"
                else:
                    level = "warning"
                yield Finding(level, "less than one sequence", 1, 1, about)


def _unknown_script(recipe: Recipe, language: str) -> str:
    """Return advice on a language of unknown scripts."""
    if language not in recipe.derived:
        return f"filters.script.expected.{language} = ['Latin'] sets them, and drops lines in others"
    derived = recipe.derived[language]
    changes = "+".join(derived.transformations)
    return f"it is derived from {derived.of!r} by {changes}; correct the lines of {derived.of!r}"


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

    sets: dict[TaskSplit, HeldOutSet]
    unread: dict[TaskSplit, str]


def held_out_text(recipe: Recipe, tasks: Sequence[str] = (), reported: Sequence[str] = ()) -> HeldOutText:
    """Return the development and test sets of a recipe's tasks that are running text.

    Development sets and test sets in the source language are optional. Other sets that cannot be read are logged as
    warnings, once, and only if their message is not part of `reported`.
    """
    found = HeldOutText({}, {})
    root = data_root(recipe)
    settings = recipe.evaluate
    for name in tasks or settings.tasks:
        task = settings.task(name)
        languages = dict.fromkeys([settings.source, *(task.targets or settings.targets or recipe.languages)])
        for split in [TaskSplit(name, split, language) for split in ("dev", "test") for language in languages]:
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


def contamination_of(trained: Recipe, sets: Mapping[TaskSplit, HeldOutSet]) -> dict[TaskSplit, Contamination]:
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
    folder: Path, trained: Recipe, evaluated: Recipe, tasks: Sequence[str] = (), reported: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the contamination of test sets as plain data; store that of all sets in `contamination.json`.

    Results of unchanged held-out text are reused; all other sets share one pass over the training text. Sets that
    could not be read are stored as `unread` and tried again by the next call. `unknown` names public checkpoints in the
    model's lineage, whose training text is unknown.
    """
    held = held_out_text(evaluated, tasks, reported)
    try:
        stored: dict[str, Any] = read_json(folder / CONTAMINATION, _StoredSets, {}).get("sets", {})
    except DataError as error:
        log.warning("%s; searching again", error)
        stored = {}
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
        if row["exact"] >= 1.0:
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
        root = data_root(each)
        prefix = "" if each is recipe else f"{each.name}: "
        for name, group in each.corpora.items():
            source = json.dumps([repr(root), group.model_copy(update={"dev": []}).dump()], sort_keys=True)
            for corpus in () if source in seen else group.trained:
                place = f"{prefix}{name} {corpus}"
                first = 0
                for chunk in group.reading().read_chunks(group.files("train", corpus, root), corpus.split("-")):
                    texts = list(sides(chunk))
                    for text in texts:
                        yield text, partial(_place, place, first)
                    first += len(texts[0])
            seen.add(source)


def _place(corpus: str, first: int, row: int) -> str:
    return f"{corpus}:{first + row + 1}"


def _held_out_set(split: TaskSplit, task: Task, root: Root) -> HeldOutSet | None:
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
        if isinstance(chunk, TextPairs):
            names = ["first", "second"]
        else:
            names = ["text" if alone else chunk.language]
        for part, side in zip(names, sides(chunk), strict=True):
            languages.setdefault(part, side.language)
            lines = parts.setdefault(part, [])
            lines += [""] * (rows - len(lines)) + list(side.lines)
        rows += len(chunk)
    filled = {part: lines + [""] * (rows - len(lines)) for part, lines in parts.items()}
    if chunks:
        return HeldOutSet(split.task, split.language, filled, languages)
    return None


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
