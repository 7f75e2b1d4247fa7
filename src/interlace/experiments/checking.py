"""Check the data of a recipe: missing files, each corpus, and contamination."""

from collections.abc import Iterator
from dataclasses import dataclass

from interlace.core.data_root import Root
from interlace.core.errors import InterlaceError
from interlace.core.progress import Progress, no_progress
from interlace.data.contamination import ContaminationSearch, HeldOutSet
from interlace.data.filters import build_filters
from interlace.data.findings import Finding, RowNames
from interlace.data.inspection import InspectionReport, Inspector, Observer
from interlace.experiments.contamination import held_out_sets
from interlace.experiments.data_root import data_root
from interlace.experiments.inputs import MissingInputs, missing_inputs
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.experiments.texts import RecipeTexts
from interlace.text import Text


def check_recipe(recipe: Recipe, progress: Progress = no_progress) -> list[InspectionReport]:
    """Inspect all corpora of a recipe, held-out text first; errors of files become findings."""
    missing = missing_inputs(recipe)
    files = InspectionReport("files", {}, list(_missing_files(missing)))
    reports: list[InspectionReport] = []
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
    for corpus in _corpora(recipe, "dev"):
        texts_by_language: dict[str, list[Text]] = {}
        reports.append(_inspect(inspector, corpus, root, _collect_in(texts_by_language)))
        for language, chunks in texts_by_language.items():
            sets.append(HeldOutSet(f"{corpus.group_name} {corpus.name}", "dev", language, chunks))

    search = ContaminationSearch(sets)
    for corpus in _corpora(recipe, "train"):
        reports.append(_inspect(inspector, corpus, root, search.search))

    overlaps = InspectionReport("held-out text in training text", {"sets": len(sets)})
    for result in search.results():
        overlaps.findings += result.findings()
    return [*reports, overlaps]


@dataclass(frozen=True)
class _Corpus:
    """A split of a corpus of a group, such as `de` or `en-de`."""

    group: CorpusGroup
    group_name: str
    name: str
    split: str

    def __str__(self) -> str:
        return f"{self.group_name} {self.name} ({self.split})"


def _corpora(recipe: Recipe, split: str) -> Iterator[_Corpus]:
    for group_name, group in recipe.corpora.items():
        for name in group.corpora_in(split):
            yield _Corpus(group, group_name, name, split)


def _inspect(
    inspector: Inspector, corpus: _Corpus, root: Root, observer: Observer
) -> InspectionReport:
    paths = corpus.group.files(corpus.split, corpus.name, root)
    reader = corpus.group.reading(corpus.split)
    return inspector.inspect(str(corpus), reader, paths, corpus.name.split("-"), observer)


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
