"""Check the data of a recipe before training: each corpus, contamination, and the number of passes over the text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from interlace.core.progress import Progress, no_progress
from interlace.data.contamination import ContaminationCheck, HeldOutSet
from interlace.data.filters import build_filters
from interlace.data.inspection import InspectionReport, Inspector
from interlace.experiments.contamination import held_out_text
from interlace.experiments.prepare import data_root
from interlace.text.scripts import UNSPACED, scripts_of
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.text import Text

_SPACED, _UNSPACED = 4.5, 1.5  # characters per token: of alphabets, and of scripts without spaces


@dataclass(frozen=True)
class TrainingVolume:
    """Tokens that training reads on one process, with padding, and tokens of the training text.

    text: estimated from the number of characters.
    """

    steps: int
    tokens: int
    text: int

    @property
    def passes(self) -> float:
        """Passes over the training text."""
        return self.tokens / max(self.text, 1)

    def dump(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**asdict(self), "passes": round(self.passes, 2)}


@dataclass(frozen=True)
class CheckedRecipe:
    """The reports of a recipe's corpora, and its training volume."""

    reports: list[InspectionReport]
    volume: TrainingVolume

    @property
    def failed(self) -> bool:
        """Whether training cannot start."""
        return any(report.failed for report in self.reports)


def check_recipe(recipe: Recipe, progress: Progress = no_progress) -> CheckedRecipe:
    """Inspect all corpora of a recipe, held-out text first; errors of files become findings.

    Raises:
        DataError: there is no data root.
    """
    root = data_root(recipe)
    contamination = ContaminationCheck()
    dev_text: dict[tuple[str, str], list[str]] = {}  # by corpus and language
    rules = {rule.name: rule for rule in build_filters(recipe.filters)}
    inspector = Inspector(
        WORD_TOKENIZERS.build(recipe.word_tokenizer), rules, progress, partial(_unknown_script, recipe)
    )

    def hold_out(name: str) -> Callable[[Text, Callable[[int], str]], None]:
        return lambda text, _where: dev_text.setdefault((name, text.language), []).extend(text.lines)

    reports = []
    for split in ("dev", "train"):
        if split == "train":
            for place, held in held_out_text(recipe).sets.items():
                contamination.hold_out(replace(held, name=f"{place.task} ({place.split})"))
            tests = len(contamination)
            for (name, language), lines in dev_text.items():
                contamination.hold_out(HeldOutSet(name, language, {"text": lines}))
        for group, name, corpus in _corpora_of(recipe, split):
            observer = hold_out(name) if split == "dev" else contamination.search
            paths, languages = group.files(split, corpus, root), corpus.split("-")
            reports.append(inspector.inspect(name, group.reading(split), paths, languages, observer))
    results = enumerate(contamination.results())
    findings = [finding for number, found in results for finding in found.findings(ngrams=number < tests)]
    reports.append(InspectionReport("held-out text in training text", {"sets": len(contamination)}, findings))
    return CheckedRecipe(reports, _volume(recipe, reports))


def _unknown_script(recipe: Recipe, language: str) -> str:
    """Return advice on a language of unknown scripts."""
    if language not in recipe.derived:
        return f"filters.script.expected.{language} = ['Latin'] sets them, and drops lines in others"
    derived = recipe.derived[language]
    changes = "+".join(derived.transformations)
    return f"it is derived from {derived.of!r} by {changes}; correct the lines of {derived.of!r}"


def _corpora_of(recipe: Recipe, split: str) -> Iterator[tuple[CorpusGroup, str, str]]:
    for name, group in recipe.corpora.items():
        for corpus in [*group.languages, *group.pairs]:
            if getattr(group, split):
                yield group, f"{name} {corpus} ({split})", corpus


def _volume(recipe: Recipe, reports: list[InspectionReport]) -> TrainingVolume:
    train = recipe.train
    text = 0.0
    for report in reports:
        if report.name.endswith("(train)"):
            for language, side in report.facts.get("sides", {}).items():
                unspaced = bool(scripts_of(language) & UNSPACED)
                text += side["characters"] / (_UNSPACED if unspaced else _SPACED)
    return TrainingVolume(train.steps, train.steps * train.micro_batches * train.tokens_per_batch, round(text))
