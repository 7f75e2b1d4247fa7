"""Machine translation: BLEU and chrF of an encoder-decoder's translations of a test set. Nothing is trained.

A target is a direction, such as `en-de`; a language alone means from `source` into it. BLEU is sacreBLEU's on raw text,
with its signature in the score's row. Tokenized BLEU is for comparison with papers that print it (Conneau & Lample 2019
by `multi-bleu.perl`, Romanian without diacritics on both sides).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.tasks import Scores
from interlace.tasks.common.files import (
    Chunks,
    FilePart,
    FileQuery,
    Files,
    MissingDataError,
    ReaderSettings,
    find_parts,
    read_text,
)
from interlace.tasks.common.translation import (
    SourceLines,
    TextMetric,
    TranslationTask,
    bleu,
    chrf,
    tokenized_bleu,
)
from interlace.text import TextPairs
from interlace.text.word_tokenizers import WordTokenizerName

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class Mt(TranslationTask):
    """BLEU of translations by beam search; `targets` are directions, such as `["en-de", "de-en"]`."""

    metric = "bleu"
    further_metrics = ("tokenized bleu", "round-trip bleu")
    other_scales = {
        "chrf": ("chrF", True),
        "length ratio": ("", None),  # 1 is best
        **TranslationTask.other_scales,
    }

    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.en-de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Files of the "
        "opposite direction are used too.",
    )
    reader: ReaderSettings = Field(
        "lines",
        description="Reader of the files, such as 'lines' or 'tsv'.",
    )
    word_tokenizer: WordTokenizerName = Field(
        "unicode",
        description="Word tokenizer of 'tokenized bleu', such as 'moses' or 'by_language', as in papers.",
    )
    round_trip: bool = Field(
        False,
        description="Also translate back, as the task 'round_trip': 'round-trip bleu'.",
    )

    def query(self, split: str, language: str, root: Root) -> FileQuery:
        """Return what to look for in `files`: both sides of the direction."""
        direction = self.direction(language)
        return FileQuery(self.name, split, direction.target, root, direction.source)

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> SourceLines:
        """Read the raw lines of both sides, without those where one is empty."""
        direction = self.checked_direction(language)
        sources = []
        references = []
        for _, chunk in self.read_chunks(self.query(split, language, root)):
            for source, target in zip(chunk.source.lines, chunk.target.lines, strict=True):
                if source.strip() and target.strip():
                    sources.append(source)
                    references.append(target)
        if not sources:
            raise DataError(
                f"{self.name}: the {split} data of {direction} is empty: no line has text on both sides"
            )
        lengths = vocab.encode(sources, language=direction.source).lengths
        return SourceLines(direction, sources, references, lengths)

    def read_chunks(self, query: FileQuery) -> Chunks[TextPairs]:
        """Read both sides, from files of the direction or of the opposite one."""
        source, target = self._sides(query)
        return read_text(
            self.name,
            self.reader,
            [query.source, query.language],
            TextPairs,
            source,
            target,
        )

    def read_files(self, split: str, language: str, root: Root) -> list[Path]:
        """Return the files of both sides, of the direction or the opposite one."""
        source, target = self._sides(self.query(split, language, root))
        return [part.path for part in [*target, *source]]

    def _sides(self, query: FileQuery) -> tuple[list[FilePart], list[FilePart]]:
        """Return the files of the source and of the target, of the direction or the opposite one."""
        opposite = FileQuery(self.name, query.split, query.source, query.root, query.language)
        try:
            return self._parts(query, query.source), self._parts(query, query.language)
        except MissingDataError as error:
            try:
                source_parts = self._parts(opposite, query.source)
                return source_parts, self._parts(opposite, query.language)
            except MissingDataError:
                raise error from None

    def _parts(self, query: FileQuery, side: str) -> list[FilePart]:
        return find_parts(self.files, query, side)

    def compare(
        self,
        examples: SourceLines,
        outputs: list[str],
        back: list[str],
    ) -> dict[str, TextMetric]:
        """Compare the outputs with the references, and what came back with the sources."""
        target = examples.direction.target
        references = examples.references
        words = tokenized_bleu(
            self.normalized(outputs, target),
            self.normalized(references, target),
            target,
            word_tokenizer=self.word_tokenizer,
            lower_case=self.lower_case,
        )
        metrics = {
            "bleu": bleu(outputs, references, target, lower_case=self.lower_case),
            "chrf": chrf(outputs, references, lower_case=self.lower_case),
            "tokenized bleu": self.signed(words),
        }
        if self.round_trip:
            metrics["round-trip bleu"] = self.round_trip_bleu(examples, back)
        return metrics

    def measure(self, backbone: Backbone, vocab: Vocab, examples: SourceLines) -> Scores:
        """Return further `length ratio`, the ratio of the words of outputs and references as BLEU counts them."""
        scores = super().measure(backbone, vocab, examples)
        outcomes: Any = scores.outcomes
        length, reference_length = outcomes.columns[:2].sum(axis=1)
        scores.metrics["length ratio"] = (
            float(length / reference_length) if reference_length else 0.0
        )
        return scores
