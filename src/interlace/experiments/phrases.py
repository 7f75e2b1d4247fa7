"""The phrases of a corpus, extracted from its word alignments."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from interlace.alignment.phrase_rules import TableRules
from interlace.core.errors import DataError, SettingsError
from interlace.core.json_files import JsonObject
from interlace.data.alignments import PhraseStore
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash
from interlace.experiments.alignments import CorpusAlignments
from interlace.experiments.recipe import Recipe


@dataclass(frozen=True, eq=False)
class CorpusPhrases(Artifact[PhraseStore]):
    """The phrase table of a corpus, and the phrases of the table that each of its pairs has."""

    kind = "phrases"

    alignments: CorpusAlignments
    rules: TableRules

    def __str__(self) -> str:
        return f"the phrases of {self.alignments.text}"

    @cached_property
    def key(self) -> JsonObject:
        """The alignments, the rules of extraction, and the code."""
        return {
            "alignments": self.alignments.id,
            "rules": self.rules.dump(),
            "version": code_hash("alignment", "data"),
        }

    def needs(self) -> Sequence[CorpusAlignments]:
        """Return the alignments."""
        return (self.alignments,)

    def build(self, folder: Path) -> None:
        """Count the table over all pairs, and find its phrases in each pair."""
        from interlace.alignment.phrase_counts import count_phrases  # compiles loops

        alignments = self.alignments.get()
        words, links = alignments.whole(spool=folder.parent)
        table = count_phrases(words, links.links, self.rules, confidence=links.confidence.flat)
        PhraseStore.write(folder, alignments, table, self.rules)

    def open(self, folder: Path) -> PhraseStore:
        """Map the phrases into memory; raise a DataError if there are none."""
        alignments = self.alignments.get()
        store = PhraseStore.open(folder, alignments)
        if not store.counts["phrases"]:
            raise DataError(
                f"{self.alignments.text}: no phrase occurs {self.rules.min_count} times in {len(alignments):,} pairs "
                f"with {alignments.counts['links']:,} links; lower align.phrases.min_count or "
                "align.phrases.min_confidence, or set another aligner (align.name)"
            )
        return store


def phrase_rules(recipe: Recipe) -> TableRules:
    """Return the recipe's rules of extraction; raise a SettingsError if an objective wants longer phrases."""
    rules = TableRules()
    if recipe.align is not None and recipe.align.phrases is not None:
        rules = recipe.align.phrases
    for name in recipe.objectives:
        code_switching = getattr(recipe.objective(name), "code_switching", None)
        if code_switching is None:
            continue
        wanted = code_switching.max_phrase_length
        if wanted > rules.max_phrase_length:
            raise SettingsError(
                f"objectives.{name}.code_switching.max_phrase_length = {wanted}, but phrases are extracted up to "
                f"{rules.max_phrase_length} words; set align.phrases.max_phrase_length = {wanted} too"
            )
    return rules
