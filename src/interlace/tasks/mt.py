"""Machine translation: BLEU and chrF of an encoder-decoder's translations of a test set. Nothing is trained.

A target is a direction, such as `en-de`; a language alone means from `source` into it. BLEU is sacreBLEU's on raw text,
with its signature in the score's row. Tokenized BLEU is for comparison with papers that print it (Conneau & Lample 2019
by `multi-bleu.perl`, Romanian without diacritics on both sides).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, field_validator

from interlace.core.errors import DataError
from interlace.scores.examples import identity_of
from interlace.tasks import Scale, Scores
from interlace.tasks.common.bleu import bleu, chrf, copied, tokenized_bleu
from interlace.tasks.common.files import FileQuery, Files, MissingDataError, find_parts
from interlace.tasks.common.reading import ReaderSettings, read_both_sides
from interlace.tasks.common.translation import (
    Direction,
    SourceLines,
    TranslationTask,
    in_pieces,
    require_seq2seq,
    translation_scores,
)
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks.common.files import FilePart
    from interlace.text import TextPairs


@dataclass(frozen=True)
class TestSet(SourceLines):
    """Sources, and (n,) raw references."""

    references: list[str]


class Mt(TranslationTask):
    """BLEU of translations by beam search; `targets` are directions, such as `["en-de", "de-en"]`."""

    metric: ClassVar[str] = "bleu"
    same_scale: ClassVar[tuple[str, ...]] = ("tokenized bleu", "round-trip bleu")
    other_scales: ClassVar[dict[str, Scale]] = {
        "chrf": ("chrF", True),
        "copied lines": ("%", False),
        "copied words": ("%", False),
        "in pieces": ("%", False),
        "length ratio": ("", None),  # 1 is best
    }

    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.en-de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Files of the "
        "opposite direction are used too.",
    )
    reader: ReaderSettings = Field("lines", description="Reader of the files, such as 'lines' or 'tsv'.")
    word_tokenizer: str = Field(
        "unicode", description="Word tokenizer of 'tokenized bleu', such as 'moses' or 'by_language', as in papers."
    )
    round_trip: bool = Field(
        False, description="Also translate back, as the task 'round_trip' does: 'round-trip bleu'."
    )

    @field_validator("word_tokenizer")
    @classmethod
    def _check_word_tokenizer(cls, word_tokenizer: str) -> str:
        WORD_TOKENIZERS.get(word_tokenizer)
        return word_tokenizer

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> TestSet:
        """Read the raw lines of both sides, without those where one is empty."""
        direction = self.checked_direction(language)
        chunks = self._chunks(split, direction, root)
        sources = [line for chunk in chunks for line in chunk.source.lines]
        references = [line for chunk in chunks for line in chunk.target.lines]
        kept = [row for row, pair in enumerate(zip(sources, references, strict=True)) if all(map(str.strip, pair))]
        if not kept:
            raise DataError(f"{self.name}: the {split} data of {direction} is empty: no line has text on both sides")
        sources, references = ([side[row] for row in kept] for side in (sources, references))
        lengths = vocab.encode(sources, language=direction.source).lengths
        return TestSet(direction, sources, lengths, references)

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """Return the files of both sides, of the direction or the opposite one."""
        direction = self.direction(language)
        parts = self._parts(split, direction, root)
        return [part.path for side in (direction.target, direction.source) for part in parts[side]]

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Return both sides."""
        direction = self.direction(language)
        return self._chunks(split, direction, root) if direction.source != direction.target else []

    def measure(self, backbone: Backbone, vocab: Vocab, examples: TestSet) -> Scores:
        """Return metrics with signatures, 0 to 100; shares are in percent of lines or of words of the outputs.

        `copied words, references` is what the references have in common with the sources: names and numbers. A model
        that copies much more than that has collapsed.

        Raises:
            SettingsError: the model is an encoder. DataError: it was not trained on the target language.
        """
        model, direction = require_seq2seq(backbone, self.name), examples.direction
        found = self.translate(model, vocab, direction, examples.sources)
        outputs = [one.text for one in found]
        scores = self._scores(examples, outputs, in_pieces(found))
        if self.round_trip:
            back, _ = self.round_trip_bleu(model, vocab, direction.back, outputs, examples.sources)
            scores.metrics["round-trip bleu"] = back.value
            scores.details["signatures"]["round-trip bleu"] = self.signature(back)
        return scores

    def _scores(self, examples: TestSet, outputs: list[str], pieces: float) -> Scores:
        target, references = examples.direction.target, examples.references
        main = bleu(outputs, references, target, tokenize=self.tokenize, lower_case=self.lower_case)
        letters = chrf(outputs, references, lower_case=self.lower_case)
        words = tokenized_bleu(
            self.normalized(outputs, target),
            self.normalized(references, target),
            target,
            word_tokenizer=self.word_tokenizer,
            lower_case=self.lower_case,
        )
        lines, shares = copied(outputs, examples.sources)
        metrics = {
            "bleu": main.value,
            "chrf": letters.value,
            "tokenized bleu": words.value,
            "copied lines": 100 * float(lines.mean()),
            "copied words": 100 * float(shares.mean()),
            "copied words, references": 100 * float(copied(references, examples.sources)[1].mean()),
            "length ratio": main.length_ratio,
            "in pieces": pieces,
        }
        signatures = {"bleu": main.signature, "chrf": letters.signature, "tokenized bleu": self.signature(words)}
        shown = (examples.sources, references, outputs)
        return translation_scores(metrics, signatures, main, letters, outputs, identity_of(references), shown)

    def _chunks(self, split: str, direction: Direction, root: Path) -> list[TextPairs]:
        """Read both sides, from files of the direction or of the opposite one."""
        parts, (source, target) = self._parts(split, direction, root), (direction.source, direction.target)
        return read_both_sides(self.name, self.reader, parts[source], parts[target], [source, target])

    def _parts(self, split: str, direction: Direction, root: Path) -> dict[str, list[FilePart]]:
        """Return the files of each side, by language.

        Raises:
            MissingDataError: there are none; the error is the same for both directions, so that it is logged once.
        """
        missing = []
        for way in (direction, direction.back):
            query = FileQuery(self.name, split, way.target, root, way.source)
            try:
                return {side: find_parts(self.files, query, side) for side in sorted((way.source, way.target))}
            except MissingDataError as error:
                missing.append(str(error))
        one, other = sorted(missing)
        raise MissingDataError(f"{one}; opposite direction: {other.removeprefix(f'{self.name}: ')}")
