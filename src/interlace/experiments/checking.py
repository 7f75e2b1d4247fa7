"""Check the data of a recipe: missing files, each corpus, and contamination."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from interlace.core.data_root import Root
from interlace.core.progress import Progress, no_progress
from interlace.data.contamination import ContaminationCheck, HeldOutSet
from interlace.data.filters import build_filters
from interlace.data.inspection import Finding, InspectionReport, Inspector, Observer, RowName
from interlace.experiments.contamination import held_out_text
from interlace.experiments.data_root import data_root
from interlace.experiments.inputs import MissingInputs, missing_inputs
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.experiments.texts import RecipeTexts
from interlace.text import Text


def check_recipe(recipe: Recipe, progress: Progress = no_progress) -> list[InspectionReport]:
    """Inspect all corpora of a recipe, held-out text first; errors of files become findings."""
    missing = missing_inputs(recipe)
    if recipe.derived and missing.training:  # derived languages cannot be written
        errors = [Finding("error", "missing", 1, 1, message) for message in missing.training]
        return [InspectionReport("files", {}, errors)]
    files = InspectionReport("files", {}, list(_missing_files(missing)))
    reports = [files] if files.findings else []
    root = data_root(recipe)
    texts = RecipeTexts(recipe, root)
    rules = {rule.name: rule for rule in build_filters(recipe.filters)}
    inspector = Inspector(texts.word_tokenizer, rules, progress)
    dev_sets: list[HeldOutSet] = []
    for corpus in _corpora(recipe, "dev"):
        lines: dict[str, list[str]] = {}  # by language
        reports.append(_inspect(inspector, corpus, root, _collect_in(lines)))
        dev_sets += [
            HeldOutSet(str(corpus), language, {"text": text}) for language, text in lines.items()
        ]

    contamination = ContaminationCheck()
    for split, held_out in held_out_text(recipe).sets.items():
        contamination.hold_out(replace(held_out, name=f"{split.task} ({split.split})"))
    task_sets = len(contamination)
    for dev_set in dev_sets:
        contamination.hold_out(dev_set)
    for corpus in _corpora(recipe, "train"):
        reports.append(_inspect(inspector, corpus, root, contamination.search))

    overlaps = InspectionReport("held-out text in training text", {"sets": len(contamination)})
    for number, result in enumerate(contamination.results()):
        overlaps.findings += result.findings(ngrams=number < task_sets)
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


def _collect_in(lines: dict[str, list[str]]) -> Observer:
    """Return an observer that adds the lines of each text to those of its language."""

    def collect(text: Text, _row_name: RowName) -> None:
        lines.setdefault(text.language, []).extend(text.lines)

    return collect


def _missing_files(missing: MissingInputs) -> Iterator[Finding]:
    """Yield a finding for each file that a run reads and that is missing; corpora have reports of their own."""
    for message in missing.training:
        if not message.startswith("corpora."):
            yield Finding("error", "missing", 1, 1, message)
    for message in missing.evaluation:
        yield Finding("warning", "missing, not evaluated", 1, 1, message)
