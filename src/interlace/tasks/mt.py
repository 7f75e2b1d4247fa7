"""Translation: BLEU and chrF of an encoder-decoder's translations of a test set. Nothing is trained.

What is scored is a direction, such as `en-de`; a language alone means from `source` into it. BLEU is sacreBLEU's on raw
text, with its signature in the score's row; tokenised BLEU stands beside it for comparison with papers, which mostly
print that kind (Conneau & Lample 2019 by `multi-bleu.perl`, Romanian without diacritics on both sides).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from interlace.core.errors import DataError
from interlace.scores.examples import Examples, identity_of
from interlace.tasks._bleu import bleu, chrf, copied, length_ratio, tokenised_bleu
from interlace.tasks._files import FileQuery, Files, MissingDataError, find_parts
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import read_parts_of_both
from interlace.tasks._translating import Direction, Sources, Translating, in_pieces, samples_of, writer
from interlace.text.words import WORD_TOKENIZERS

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.tasks import Scale
    from interlace.tasks._files import Part
    from interlace.text import TextPairs


@dataclass(frozen=True)
class Lines(Sources):
    """A test set: sources, and (n,) raw references."""

    references: list[str]


class Mt(Translating):
    """BLEU of translations by beam search; `targets` are directions, such as `["en-de", "de-en"]`."""

    metric: ClassVar[str] = "bleu"
    also: ClassVar[tuple[str, ...]] = ("tokenised bleu", "round-trip bleu")
    others: ClassVar[dict[str, Scale]] = {
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
        "other direction serve too.",
    )
    reader: dict[str, Any] | str = Field("lines", description="What reads the files, such as 'lines' or 'tsv'.")
    word_tokenizer: str = Field(
        "unicode", description="Whose words 'tokenised bleu' counts, such as 'moses' or 'by_language', as papers have."
    )
    round_trip: bool = Field(
        False, description="Translate the translations back as well, as the task 'round_trip' does: 'round-trip bleu'."
    )

    @field_validator("word_tokenizer")
    @classmethod
    def _is_word_tokenizer(cls, word_tokenizer: str) -> str:
        WORD_TOKENIZERS.get(word_tokenizer)
        return word_tokenizer

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Any:
        """The raw lines of both sides, without those where one is empty."""
        direction = self.between_two(language)
        sources, references = self._sides(split, language, root)
        kept = [row for row, pair in enumerate(zip(sources, references, strict=True)) if all(map(str.strip, pair))]
        if not kept:
            raise DataError(f"mt: the {split} data of {direction} is empty: no line has text on both sides")
        sources, references = ([side[row] for row in kept] for side in (sources, references))
        lengths = vocab.encode(sources, language=direction.source).lengths
        return Lines(direction, sources, lengths, references)

    def read_files(self, split: str, language: str, root: Path) -> list[Path]:
        """Those of both sides, of the direction itself or of the other one."""
        direction = self.direction(language)
        parts = self._parts(split, direction, root)
        return [part.path for side in (direction.target, direction.source) for part in parts[side]]

    def texts(self, split: str, language: str, root: Path) -> list[TextPairs]:
        """Both sides."""
        direction = self.direction(language)
        if direction.source == direction.target:
            return []
        return self._chunks(split, direction, root)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Lines) -> Measured:
        """Scores with signatures, 0 to 100; shares are in percent of lines or of words of the outputs.

        `copied words, references` is what the references have in common with the sources: names and numbers. A model
        that copies much more than that has collapsed.

        Raises:
            SettingsError: the model only reads. DataError: it was not made for the target language.
        """
        model, direction = writer(backbone, "mt"), examples.direction
        found = self._said(model, vocab, direction, examples.sources)
        outputs = [one.text for one in found]
        measured = self._scored(examples, outputs, in_pieces(found))
        if self.round_trip:
            back, _ = self._came_back(model, vocab, direction.back, outputs, examples.sources)
            measured["round-trip bleu"] = back.value
            measured.about["signatures"]["round-trip bleu"] = self._signed(back.signature)
        return measured

    def _scored(self, examples: Lines, outputs: list[str], pieces: float) -> Measured:
        target, references = examples.direction.target, examples.references
        main = bleu(outputs, references, target, tokenise=self.tokenise, lower_case=self.lower_case)
        letters = chrf(outputs, references, lower_case=self.lower_case)
        said, right = (self._rewritten(side, target) for side in (outputs, references))
        words = tokenised_bleu(said, right, target, word_tokenizer=self.word_tokenizer, lower_case=self.lower_case)
        lines, same = copied(outputs, examples.sources)
        scores = {
            "bleu": main.value,
            "chrf": letters.value,
            "tokenised bleu": words.value,
            "copied lines": 100 * float(lines.mean()),
            "copied words": 100 * float(same.mean()),
            "copied words, references": 100 * float(copied(references, examples.sources)[1].mean()),
            "length ratio": length_ratio(main),
            "in pieces": pieces,
        }
        signatures = {
            "bleu": main.signature,
            "chrf": letters.signature,
            "tokenised bleu": self._signed(words.signature),
        }
        got = Examples(
            letters.sentences / 100, np.ones(len(outputs)), identity_of(references), main.counts, measure="bleu"
        )
        order = np.argsort(got.score, kind="stable")  # by chrF
        some = samples_of(order, examples.sources, references, outputs)
        return Measured(scores, got, {"signatures": signatures}, outputs, some)

    def _sides(self, split: str, language: str, root: Path) -> tuple[list[str], list[str]]:
        chunks = self._chunks(split, self.direction(language), root)
        sources = [line for chunk in chunks for line in chunk.source.lines]
        return sources, [line for chunk in chunks for line in chunk.target.lines]

    def _chunks(self, split: str, direction: Direction, root: Path) -> list[TextPairs]:
        """Both sides of a direction, from its own files or those of the other one."""
        parts, sides = self._parts(split, direction, root), [direction.source, direction.target]
        return read_parts_of_both("mt", self.reader, [parts[side] for side in sides], sides)

    def _parts(self, split: str, direction: Direction, root: Path) -> dict[str, list[Part]]:
        """The files of each side, by language.

        Raises:
            DataError: there are none, said in the same words for both directions, so that it is told once.
        """
        missing = []
        for way in (direction, direction.back):
            asked = FileQuery("mt", split, way.target, root, way.source)
            try:
                return {side: find_parts(self.files, asked, side) for side in sorted((way.source, way.target))}
            except MissingDataError as error:
                missing.append(str(error))
        one, other = sorted(missing)
        raise MissingDataError(f"{one}; nor the other way round: {other.removeprefix('mt: ')}")
