"""A recipe's data looked over before training: each corpus, held-out text in training text, what training reads."""

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

_SPACED, _UNSPACED = 4.5, 1.5  # characters a subword: of alphabets, and of scripts without blanks


@dataclass(frozen=True)
class Cost:
    """What training reads, in padded subwords, beside what there is.

    text: subwords of all training text, estimated from its characters. passes: how often training goes through it, on
    one process.
    """

    steps: int
    subwords: int
    text: int

    @property
    def passes(self) -> float:
        """Over all training text together."""
        return self.subwords / max(self.text, 1)

    def dump(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "passes": round(self.passes, 2)}


@dataclass(frozen=True)
class Checked:
    """All that was found about a recipe."""

    reports: list[InspectionReport]
    cost: Cost

    @property
    def failed(self) -> bool:
        """Whether training could not begin."""
        return any(report.failed for report in self.reports)


def check_recipe(recipe: Recipe, progress: Progress = no_progress) -> Checked:
    """Look at all that the recipe trains on, held-out text first.

    Raises:
        DataError: there is no data root. What is wrong with a file becomes a finding.
    """
    root = data_root(recipe)
    contamination = ContaminationCheck()
    dev_text: dict[tuple[str, str], list[str]] = {}  # by corpus and language
    rules = {rule.name: rule for rule in build_filters(recipe.filters)}
    inspector = Inspector(WORD_TOKENIZERS.build(recipe.word_tokenizer), rules, progress, partial(_unknown, recipe))

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
        for group, name, corpus in _corpora(recipe, split):
            observer = hold_out(name) if split == "dev" else contamination.search
            paths, languages = group.files(split, corpus, root), corpus.split("-")
            reports.append(inspector.inspect(name, group.reading(split), paths, languages, observer))
    results = enumerate(contamination.results())
    findings = [finding for number, found in results for finding in found.findings(ngrams=number < tests)]
    reports.append(InspectionReport("held-out text in training text", {"sets": len(contamination)}, findings))
    return Checked(reports, _cost(recipe, reports))


def _unknown(recipe: Recipe, language: str) -> str:
    """What to do about a language whose scripts nobody knows."""
    if language not in recipe.derived:
        return f"filters.script.expected.{language} = ['Latin'] says them, and drops the lines in others"
    derived = recipe.derived[language]
    changes = "+".join(derived.transformations)
    return f"it is made of {derived.of!r} by {changes}, so what is wrong with a line is mended in {derived.of!r}"


def _corpora(recipe: Recipe, split: str) -> Iterator[tuple[CorpusGroup, str, str]]:
    for name, group in recipe.corpora.items():
        for corpus in [*group.languages, *group.pairs]:
            if getattr(group, split):
                yield group, f"{name} {corpus} ({split})", corpus


def _cost(recipe: Recipe, reports: list[InspectionReport]) -> Cost:
    train = recipe.train
    text = 0.0
    for report in reports:
        if report.name.endswith("(train)"):
            for language, side in report.facts.get("sides", {}).items():
                unspaced = bool(scripts_of(language) & UNSPACED)
                text += side["characters"] / (_UNSPACED if unspaced else _SPACED)
    return Cost(train.steps, train.steps * train.micro_batches * train.tokens_per_batch, round(text))
