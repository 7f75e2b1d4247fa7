"""What tasks share that let an encoder-decoder write: directions, the search, and how what it wrote is compared."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from interlace.core.errors import DataError, SettingsError
from interlace.models.generation import SearchSettings, SingleBestSearch
from interlace.tasks import Task
from interlace.tasks._bleu import Bleu, Tokenise, bleu
from interlace.tasks._longest import Longest, must_name, with_learnt, without_specials
from interlace.text.normalise import Normalise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.models.seq2seq import Seq2Seq
    from interlace.models.translator import Translation

Samples = list[dict[str, Any]]
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
class Sources:
    """(n,) raw lines that are to be translated, and how many subwords each of them has."""

    direction: Direction
    sources: list[str]
    lengths: NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.sources)

    def part(self, rows: slice) -> Self:
        """Some of them."""
        columns = (each.name for each in fields(self) if each.name != "direction")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


class Translating(Task):
    """A probe of what a model writes in a direction, such as `en-de`; a language alone means from `source` into it."""

    unit: ClassVar[str] = "BLEU"

    source: str = Field("en", description="The language translated from, where a target names no direction.")
    search: SingleBestSearch = Field(
        default_factory=SearchSettings, description="How translations are searched for (ALM: a beam of 8)."
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
    romanian: Literal["keep", "comma", "strip"] = Field(
        "keep",
        description="What training did to Romanian, done to sources too, and to both sides of 'tokenised bleu' and "
        "'round-trip bleu' (XLM: 'strip'). References of 'bleu' are never touched.",
    )

    @property
    def _name(self) -> str:
        """As the room calls it."""
        return type(self).__module__.rpartition(".")[2]

    @model_validator(mode="after")
    def _knows_its_directions(self) -> Self:
        if self.targets is not None:
            must_name(self._name, self.max_length, (str(self.direction(target)) for target in self.targets))
        return self

    def direction(self, language: str) -> Direction:
        """What a target means: `en-de`, or `de` alone, from `source`."""
        source, dash, target = language.partition("-")
        return Direction(source, target) if dash else Direction(self.source, language)

    def between_two(self, language: str) -> Direction:
        """The direction that a target means, of two languages.

        Raises:
            DataError: it is of one.
        """
        direction = self.direction(language)
        if direction.source == direction.target:
            told = f"{direction.source!r} is not translated into itself; name a direction such as 'en-de'"
            raise DataError(f"{self._name}: {told}")
        return direction

    def learnt(self, longest: Mapping[str, int]) -> Self:
        """The task for a model that has learnt sources of so many subwords, without specials, by direction.

        Raises:
            SettingsError: `max_length` names another direction, and no `targets` do.
        """
        if self.targets is None:
            must_name(self._name, self.max_length, longest)
        return self.model_copy(update={"max_length": with_learnt(self.max_length, longest)})

    def _said(self, model: Seq2Seq, vocab: Vocab, direction: Direction, sources: Sequence[str]) -> list[Translation]:
        """What the model makes of lines, each read as training read it."""
        from interlace.models.translator import Translator

        translator = Translator(
            [model],
            vocab,
            direction.source,
            direction.target,
            self.search,
            tokens=self.tokens_per_batch,
            longest=without_specials(self.max_length, str(direction)),
        )
        return translator.lines(self._rewritten(sources, direction.source))

    def _came_back(
        self, model: Seq2Seq, vocab: Vocab, back: Direction, outputs: Sequence[str], sources: Sequence[str]
    ) -> tuple[Bleu, list[str]]:
        """BLEU of what is made of the outputs, beside the sources as they were read, and what that is."""
        said = self._rewritten([one.text for one in self._said(model, vocab, back, outputs)], back.target)
        right = self._rewritten(sources, back.target)
        return bleu(said, right, back.target, tokenise=self.tokenise, lower_case=self.lower_case), said

    def _signed(self, signature: str) -> str:
        return signature if self.romanian == "keep" else f"{signature}|romanian:{self.romanian}"

    def _rewritten(self, lines: Sequence[str], language: str) -> list[str]:
        return Normalise(form="none", romanian=self.romanian).lines(lines, language)


def samples_of(order: NDArray[np.intp], texts: Sequence[str], right: Sequence[str], said: Sequence[str]) -> Samples:
    """Some translations, evenly from the first to the last in an order, which is from the worst to the best."""
    rows = order[np.unique(np.linspace(0, len(order) - 1, min(_SHOWN, len(order))).round().astype(np.int64))]
    return [{"texts": [texts[row]], "gold": right[row], "predicted": said[row]} for row in rows.tolist()]


def in_pieces(found: Sequence[Translation]) -> float:
    """Percent of lines that were longer than the model reads."""
    return 100 * sum(one.pieces > 1 for one in found) / max(len(found), 1)


def writer(backbone: Any, task: str) -> Seq2Seq:
    """The model, where it can write.

    Raises:
        SettingsError: it cannot.
    """
    from interlace.models.seq2seq import Seq2Seq

    if not isinstance(backbone, Seq2Seq):
        raise SettingsError(
            f"{task}: this model only reads, and translation needs an encoder-decoder: train one with the objective "
            "'translation', as the recipe tiny/mt does; it may start from this model ([model] start = ..)"
        )
    return backbone
