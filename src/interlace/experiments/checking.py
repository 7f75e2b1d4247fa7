"""Check the data of a recipe: missing files, each corpus, and contamination."""

from collections.abc import Iterator, Sequence

from interlace.core.data_root import Root
from interlace.core.errors import InterlaceError
from interlace.core.progress import Progress, no_progress
from interlace.data.contamination import ContaminationSearch, HeldOutSet
from interlace.data.filters import build_filters, sides
from interlace.data.findings import Finding, RowNames
from interlace.data.inspection import InspectionReport, Inspector, Observer
from interlace.experiments.contamination import held_out_sets
from interlace.experiments.data_root import data_root
from interlace.experiments.inputs import MissingInputs, missing_inputs
from interlace.experiments.recipe import CorpusOfGroup, Recipe, resolve_task
from interlace.experiments.texts import RecipeTexts
from interlace.tasks import FineTuneTask
from interlace.text import Text


def check_recipe(recipe: Recipe, progress: Progress = no_progress) -> list[InspectionReport]:
    """Inspect all corpora of a recipe, held-out text first; errors of files become findings."""
    missing = missing_inputs(recipe)
    files = InspectionReport("files", {}, list(_missing_files(missing)))
    reports = []
    if files.findings:
        reports.append(files)
    try:
        root = data_root(recipe)
    except InterlaceError:  # among the findings
        return reports
    rules = {rule.name: rule for rule in build_filters(recipe.filters)}
    word_tokenizer = RecipeTexts(recipe, root).word_tokenizer.name
    inspector = Inspector(word_tokenizer, rules, progress)
    sets = held_out_sets(recipe)

    def inspect(place: CorpusOfGroup, split: str, observer: Observer) -> None:
        """Report on a split of a corpus, and show its text to an observer."""
        group = recipe.corpora[place.group]
        name = f"{place.group} {place.corpus} ({split})"
        paths = group.files(split, place.corpus, root)
        languages = place.corpus.split("-")
        reports.append(
            inspector.inspect(name, group.reading(split), paths, languages, observer)
        )

    for place in recipe.corpora_in("dev").values():
        texts_by_language: dict[str, list[Text]] = {}
        inspect(place, "dev", _collect_in(texts_by_language))
        for language, chunks in texts_by_language.items():
            sets.append(HeldOutSet(f"{place.group} {place.corpus}", "dev", language, chunks))

    search = ContaminationSearch(sets)
    for place in recipe.corpora_in("train").values():
        inspect(place, "train", search.search)

    overlaps = InspectionReport("held-out text in training text", {"sets": len(sets)})
    for result in search.results():
        overlaps.findings += result.findings()
    overlaps.findings += _shared_by_splits(recipe, root, sets)
    return [*reports, overlaps]


def _shared_by_splits(
    recipe: Recipe, root: Root, sets: Sequence[HeldOutSet]
) -> Iterator[Finding]:
    """Yield findings for held-out text of a task that its own training split has, unless that is removed."""
    for name in recipe.evaluate.tasks:
        task = resolve_task(recipe, name)
        if not isinstance(task, FineTuneTask) or task.decontaminate:
            continue
        task_sets = [held_out for held_out in sets if held_out.name == name]
        search = ContaminationSearch(task_sets)
        for language in dict.fromkeys(held_out.language for held_out in task_sets):
            try:
                chunks = task.texts("train", language, root)
            except InterlaceError:  # among the findings if it is needed
                continue
            names = RowNames(f"{name}.train.{language}:")
            for chunk in chunks:
                for text in sides(chunk):
                    search.search(text, names)
                names = names.after(len(chunk))
        for result in search.results():
            yield from result.findings()


def _collect_in(texts: dict[str, list[Text]]) -> Observer:
    """Return an observer that adds each text to those of its language."""

    def collect(text: Text, _names: RowNames) -> None:
        texts.setdefault(text.language, []).append(text)

    return collect


def _missing_files(missing: MissingInputs) -> Iterator[Finding]:
    """Yield a finding for each file that a run reads and that is missing; corpora have reports of their own."""
    for message in missing.training:
        if not message.startswith("corpora."):
            yield Finding("error", "missing", 1, 1, message)
    for message in missing.evaluation:
        yield Finding("warning", "missing, not evaluated", 1, 1, message)
