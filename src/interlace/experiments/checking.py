"""Check the data of a recipe: missing files, each corpus, and contamination."""

from collections.abc import Iterator
from dataclasses import replace

from interlace.core.progress import Progress, no_progress
from interlace.data.contamination import ContaminationCheck, HeldOutSet
from interlace.data.filters import build_filters
from interlace.data.inspection import Finding, InspectionReport, Inspector, Observer, RowName
from interlace.experiments.contamination import held_out_text
from interlace.experiments.data_root import data_root
from interlace.experiments.inputs import MissingInputs, missing_inputs
from interlace.experiments.recipe import Recipe
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
    rules = {rule.name: rule for rule in build_filters(recipe.filters)}
    inspector = Inspector(RecipeTexts(recipe, root).word_tokenizer, rules, progress)

    dev_sets: list[HeldOutSet] = []
    for label, group in recipe.corpora.items():
        for corpus in group.corpora_in("dev"):
            name = f"{label} {corpus} (dev)"
            lines: dict[str, list[str]] = {}  # by language
            observer = _collect_in(lines)
            paths = group.files("dev", corpus, root)
            reports.append(inspector.inspect(name, group.reading("dev"), paths, corpus.split("-"), observer))
            dev_sets += [HeldOutSet(name, language, {"text": text}) for language, text in lines.items()]

    contamination = ContaminationCheck()
    for split, held_out in held_out_text(recipe).sets.items():
        contamination.hold_out(replace(held_out, name=f"{split.task} ({split.split})"))
    test_sets = len(contamination)
    for dev_set in dev_sets:
        contamination.hold_out(dev_set)
    for label, group in recipe.corpora.items():
        for corpus in group.corpora_in("train"):
            name = f"{label} {corpus} (train)"
            paths = group.files("train", corpus, root)
            languages = corpus.split("-")
            reports.append(inspector.inspect(name, group.reading("train"), paths, languages, contamination.search))

    overlaps = InspectionReport("held-out text in training text", {"sets": len(contamination)})
    for number, result in enumerate(contamination.results()):
        overlaps.findings += result.findings(ngrams=number < test_sets)
    return [*reports, overlaps]


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
    for message in missing.skipped:
        yield Finding("note", "missing, no plot of word vectors", 1, 1, message)
