"""Translation: BLEU and chrF of an encoder-decoder's translations of a test set. Nothing is trained.

What is scored is a direction, such as `en-de`; a language alone means from `source` into it. BLEU is sacreBLEU's on raw
text, with its signature in the score's row; tokenised BLEU stands beside it for comparison with papers, which mostly
print that kind (Conneau & Lample 2019 by `multi-bleu.perl`, Romanian without diacritics on both sides).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from interlace.errors import DataError, SettingsError
from interlace.models.search.settings import Search
from interlace.statistics.examples import Examples, identity_of
from interlace.tasks import Task
from interlace.tasks._bleu import Tokenise, bleu, chrf, copied, length_ratio, tokenised_bleu
from interlace.tasks._files import Asked, Files, MissingDataError, find_parts
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import read_parts_of_both
from interlace.text.normalise import Normalise
from interlace.text.words import SPLITTERS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.translator import Translator
    from interlace.text import Text

_SHOWN = 12  # translations kept for people
_SPECIALS = 2  # subwords round a source


@dataclass(frozen=True)
class Direction:
    """From which language into which."""

    source: str
    target: str

    @property
    def back(self) -> Direction:
        """The other way."""
        return Direction(self.target, self.source)

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True)
class Lines:
    """A test set: (n,) sources and references, raw, and the subwords of each source."""

    direction: Direction
    sources: list[str]
    references: list[str]
    lengths: NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.sources)


class Mt(Task):
    """BLEU of translations by beam search; `targets` are directions, such as `["en-de", "de-en"]`."""

    metric: ClassVar[str] = "bleu"
    unit: ClassVar[str] = "BLEU"
    others: ClassVar[dict[str, tuple[str, bool]]] = {
        "chrf": ("chrF", True),
        "copied lines": ("%", False),
        "copied words": ("%", False),
        "in pieces": ("%", False),
        "length ratio": ("", True),
    }

    source: str = Field("en", description="The language translated from, where a target names no direction.")
    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.en-de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Files of the "
        "other direction serve too.",
    )
    reader: dict[str, Any] | str = Field("lines", description="What reads the files, such as 'lines' or 'tsv'.")
    search: Search = Field(default_factory=Search, description="How translations are searched for (ALM: a beam of 8).")
    max_length: int = Field(
        256, ge=8, description="Longest source in subwords, at most the model's own; longer ones are read in pieces."
    )
    tokens_per_batch: int = Field(16_384, ge=16, description="Padded source subwords in a batch, times the beam.")
    tokenise: Tokenise = Field("auto", description="What a word is to sacreBLEU; 'auto': its own for the language.")
    lower_case: bool = Field(False, description="Whether case counts as nothing in all scores.")
    splitter: str = Field(
        "unicode", description="Whose words 'tokenised bleu' counts, such as 'moses' or 'by_language', as papers have."
    )
    romanian: Literal["keep", "comma", "strip"] = Field(
        "keep",
        description="What training did to Romanian, done to sources too, and to both sides of 'tokenised bleu' (XLM: "
        "'strip'). References of 'bleu' are never touched.",
    )
    round_trip: bool = Field(
        False, description="Translate the translations back as well: 'round-trip bleu' needs no reference."
    )

    @field_validator("splitter")
    @classmethod
    def _is_splitter(cls, splitter: str) -> str:
        SPLITTERS.get(splitter)
        return splitter

    def examples(self, split: str, language: str, vocab: Vocab, root: Path) -> Any:
        """The raw lines of both sides, without those where one is empty."""
        direction = self.direction(language)
        if direction.source == direction.target:
            raise DataError(f"mt: {direction.source!r} is not translated into itself; name a direction such as 'en-de'")
        sources, references = self._sides(split, language, root)
        kept = [row for row, pair in enumerate(zip(sources, references, strict=True)) if all(map(str.strip, pair))]
        if not kept:
            raise DataError(f"mt: the {split} data of {direction} is empty: no line has text on both sides")
        sources, references = ([side[row] for row in kept] for side in (sources, references))
        lengths = vocab.encode(sources, language=direction.source).lengths
        return Lines(direction, sources, references, lengths)

    def texts(self, split: str, language: str, root: Path) -> list[Text]:
        """The references."""
        direction = self.direction(language)
        if direction.source == direction.target:
            return []
        return [chunk.target for chunk in self._chunks(split, direction, root)]

    def direction(self, language: str) -> Direction:
        """What a target means: `en-de`, or `de` alone, from `source`."""
        source, dash, target = language.partition("-")
        return Direction(source, target) if dash else Direction(self.source, language)

    def measure(self, backbone: Backbone, vocab: Vocab, examples: Lines) -> Measured:
        """Scores with signatures, 0 to 100; shares are in percent of lines or of words of the outputs.

        `copied words, references` is what the references have in common with the sources: names and numbers. A model
        that copies much more than that has collapsed.

        Raises:
            SettingsError: the model only reads. DataError: it was not made for the target language.
        """
        model, direction = _translator(backbone), examples.direction
        sources = self._rewritten(examples.sources, direction.source)
        found = self._translator(model, vocab, direction).lines(sources)
        outputs = [one.text for one in found]
        back = self._translator(model, vocab, direction.back).lines(outputs) if self.round_trip else []
        pieces = 100 * float(np.mean([one.pieces > 1 for one in found]))
        return self._scored(examples, outputs, [one.text for one in back], pieces)

    def _translator(self, model: Seq2Seq, vocab: Vocab, direction: Direction) -> Translator:
        from interlace.models.translator import Translator

        search = self.search.model_copy(update={"n_best": 1})
        longest = self.max_length - _SPECIALS
        return Translator(
            [model],
            vocab,
            direction.source,
            direction.target,
            search,
            tokens=self.tokens_per_batch,
            longest=longest,
        )

    def _scored(self, examples: Lines, outputs: list[str], back: list[str], pieces: float) -> Measured:
        target, references = examples.direction.target, examples.references
        main = bleu(outputs, references, target, tokenise=self.tokenise, lower_case=self.lower_case)
        letters = chrf(outputs, references, lower_case=self.lower_case)
        said, right = (self._rewritten(side, target) for side in (outputs, references))
        words = tokenised_bleu(said, right, target, splitter=self.splitter, lower_case=self.lower_case)
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
        if back:
            scores["round-trip bleu"] = bleu(back, examples.sources, examples.direction.source).value
        signatures = {
            "bleu": main.signature,
            "chrf": letters.signature,
            "tokenised bleu": self._signed(words.signature),
        }
        got = Examples(
            letters.sentences / 100, np.ones(len(outputs)), identity_of(references), main.counts, measure="bleu"
        )
        return Measured(scores, got, {"signatures": signatures}, outputs, _samples(examples, outputs, got))

    def _signed(self, signature: str) -> str:
        return signature if self.romanian == "keep" else f"{signature}|romanian:{self.romanian}"

    def _rewritten(self, lines: list[str], language: str) -> list[str]:
        return Normalise(form="none", romanian=self.romanian).lines(lines, language)

    def _sides(self, split: str, language: str, root: Path) -> tuple[list[str], list[str]]:
        chunks = self._chunks(split, self.direction(language), root)
        sources = [line for chunk in chunks for line in chunk.source.lines]
        return sources, [line for chunk in chunks for line in chunk.target.lines]

    def _chunks(self, split: str, direction: Direction, root: Path) -> Any:
        """Both sides of a direction, from its own files or those of the other one.

        Raises:
            DataError: there are neither.
        """
        asked = Asked("mt", split, direction.target, root, direction.source)
        try:
            parts = [find_parts(self.files, asked, side) for side in (direction.source, direction.target)]
        except MissingDataError as error:
            turned = Asked("mt", split, direction.source, root, direction.target)
            try:
                parts = [find_parts(self.files, turned, side) for side in (direction.source, direction.target)]
            except MissingDataError:
                raise error from None
        return read_parts_of_both("mt", self.reader, parts, [direction.source, direction.target])


def _translator(backbone: Any) -> Seq2Seq:
    """The model, where it can write.

    Raises:
        SettingsError: it cannot.
    """
    from interlace.models.seq2seq import Seq2Seq

    if not isinstance(backbone, Seq2Seq):
        raise SettingsError(
            "mt: this model only reads, and translation needs an encoder-decoder: train one with the objective "
            "'translation', as the recipe tiny/mt does; it may start from this model ([model] start = ..)"
        )
    return backbone


def _samples(examples: Lines, outputs: list[str], got: Examples) -> list[dict[str, Any]]:
    """Some translations, from the worst to the best by chrF, evenly."""
    order = np.argsort(got.score, kind="stable")
    rows = order[np.unique(np.linspace(0, len(order) - 1, min(_SHOWN, len(order))).round().astype(np.int64))]
    return [
        {"texts": [examples.sources[row]], "gold": examples.references[row], "predicted": outputs[row]}
        for row in rows.tolist()
    ]
