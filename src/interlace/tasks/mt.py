"""Translation: BLEU and chrF of an encoder-decoder's translations of a test set. Nothing is trained.

What is scored is a direction, such as `en-de`; a language alone means from `source` into it. BLEU is sacreBLEU's on raw
text, with its signature in the score's row; tokenised BLEU stands beside it for comparison with papers, which mostly
print that kind (Conneau & Lample 2019 by `multi-bleu.perl`, Romanian without diacritics on both sides).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from interlace.errors import DataError, SettingsError
from interlace.models.search.settings import BestOnly, Search
from interlace.statistics.examples import Examples, identity_of
from interlace.tasks import Scale, Task
from interlace.tasks._bleu import Bleu, Tokenise, bleu, chrf, copied, length_ratio, tokenised_bleu
from interlace.tasks._files import Asked, Files, MissingDataError, find_parts
from interlace.tasks._longest import Longest, must_name, with_learnt, without_specials
from interlace.tasks._outcomes import Measured
from interlace.tasks._read import read_parts_of_both
from interlace.text.normalise import Normalise
from interlace.text.words import SPLITTERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.translator import Translator
    from interlace.tasks._files import Part
    from interlace.text import TextPairs

_SHOWN = 12  # translations kept for people


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
    others: ClassVar[dict[str, Scale]] = {
        "chrf": ("chrF", True),
        "copied lines": ("%", False),
        "copied words": ("%", False),
        "in pieces": ("%", False),
        "length ratio": ("", None),  # 1 is best
    }

    source: str = Field("en", description="The language translated from, where a target names no direction.")
    files: Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.en-de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Files of the "
        "other direction serve too.",
    )
    reader: dict[str, Any] | str = Field("lines", description="What reads the files, such as 'lines' or 'tsv'.")
    search: BestOnly = Field(
        default_factory=Search, description="How translations are searched for (ALM: a beam of 8)."
    )
    max_length: Longest = Field(
        None,
        description="Longest source in subwords, specials included, at most the model's own; longer ones are read in "
        "pieces, as `interlace translate` does. A number, or a table by direction; none, or where the table does not "
        "say: the longest that the run learnt to translate in the direction, else the model's own.",
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

    @model_validator(mode="after")
    def _knows_its_directions(self) -> Self:
        if self.targets is not None:
            must_name(self.max_length, (str(self.direction(target)) for target in self.targets))
        return self

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
        pieces = 100 * float(np.mean([one.pieces > 1 for one in found]))
        measured = self._scored(examples, outputs, pieces)
        if self.round_trip:
            back = self._round_trip(model, vocab, direction.back, outputs, sources)
            measured["round-trip bleu"] = back.value
            measured.about["signatures"]["round-trip bleu"] = self._signed(back.signature)
        return measured

    def learnt(self, longest: Mapping[str, int]) -> Mt:
        """The task for a model that has learnt sources of so many subwords, without specials, by direction.

        Raises:
            SettingsError: `max_length` names another direction, and no `targets` do.
        """
        if self.targets is None:
            must_name(self.max_length, longest)
        return self.model_copy(update={"max_length": with_learnt(self.max_length, longest)})

    def _round_trip(
        self, model: Seq2Seq, vocab: Vocab, back: Direction, outputs: list[str], sources: list[str]
    ) -> Bleu:
        """BLEU of what comes back beside the sources as they were read, which the model can come back to."""
        read = self._rewritten(outputs, back.source)
        said = [one.text for one in self._translator(model, vocab, back).lines(read)]
        said = self._rewritten(said, back.target)
        return bleu(said, sources, back.target, tokenise=self.tokenise, lower_case=self.lower_case)

    def _translator(self, model: Seq2Seq, vocab: Vocab, direction: Direction) -> Translator:
        from interlace.models.translator import Translator

        return Translator(
            [model],
            vocab,
            direction.source,
            direction.target,
            self.search,
            tokens=self.tokens_per_batch,
            longest=without_specials(self.max_length, str(direction)),
        )

    def _scored(self, examples: Lines, outputs: list[str], pieces: float) -> Measured:
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
            asked = Asked("mt", split, way.target, root, way.source)
            try:
                return {side: find_parts(self.files, asked, side) for side in sorted((way.source, way.target))}
            except MissingDataError as error:
                missing.append(str(error))
        one, other = sorted(missing)
        raise MissingDataError(f"{one}; nor the other way round: {other.removeprefix('mt: ')}")


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
