"""How the files of one derived language are made: text read, changed word by word, and written, with exact links.

Words are those that a file itself tells (treebanks, tagged tokens), and otherwise those of the recipe's word tokenizer.
Translations and the dictionary are made of what a run is trained on: rows that a group leaves out, or filters drop,
are in neither.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data.filters import FilterChain
from interlace.derived import composed
from interlace.experiments._deriving_formats import write_as
from interlace.experiments._deriving_normalised import normalised, normalised_pairs
from interlace.experiments._deriving_words import Became
from interlace.text import Text, TextPairs
from interlace.text.lines import write_lines, writing
from interlace.text.words import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from interlace.derived import Derived, Transformation
    from interlace.experiments._deriving_files import Same, Sides, Source, Words
    from interlace.experiments.recipe import Recipe
    from interlace.text.normalise import Normalise
    from interlace.text.words import WordTokenizer


@dataclass(frozen=True)
class Maker:
    """Makes files of one derived language."""

    name: str
    of: str
    change: Transformation
    seed: int
    word_tokenizer: WordTokenizer
    normalise: Normalise

    @classmethod
    def of_recipe(cls, recipe: Recipe, name: str, root: Path) -> Maker:
        """The maker of a recipe's derived language; what the changes read stands under the data root."""
        derived = recipe.derived[name]
        word_tokenizer = WORD_TOKENIZERS.build(recipe.word_tokenizer).of(derived.of)
        return cls(name, derived.of, derived.placed(root, name), derived.seed, word_tokenizer, recipe.normalise)

    # ---- what is written ----

    def write_same(self, wanted: Same, into: Path) -> None:
        """The file in the derived language, in the form of the original."""
        write_as(wanted.source.reader, into, (self._changed(chunk) for chunk in self._chunks(wanted.source)))

    def write_sides(self, wanted: Sides, sides: tuple[Path, Path], links: Path | None) -> None:
        """The lines of both sides (the original's first), and a line of links between their words for each pair."""
        with writing(sides[0]) as original, writing(sides[1]) as own, _maybe(links) as linked:
            for pairs in self._pairs(wanted.sources, wanted.share):
                original(pairs.source.lines)
                own(pairs.target.lines)
                found = self._between_words(pairs)
                linked(pharaoh_lines(_turned(found) if wanted.turned else found))

    def write_words(self, wanted: Words, into: Path) -> None:
        """The dictionary: each word with a letter in it and what became of it, the most frequent first."""
        became = Became()
        for pairs in self._pairs(wanted.sources):
            became.add(pairs.source, pairs.target, _given(pairs.links))
        write_lines(into, ("\t".join(entry) for entry in became.entries()))

    # ---- what is read and changed ----

    def _chunks(self, source: Source) -> Iterator[Any]:
        for chunk in source.reader.read_chunks(list(source.paths), [self.of]):
            rewritten: Any = normalised_pairs if isinstance(chunk, TextPairs) else normalised
            yield rewritten(chunk, self.normalise, self.word_tokenizer)

    def _changed(self, chunk: Any) -> Any:
        if isinstance(chunk, TextPairs):
            made = self.change.apply_pairs(chunk, self.seed).pairs
            return replace(made, source=self._own(made.source), target=self._own(made.target))
        return self._own(self.change.apply(chunk, self.seed).text)

    def _own(self, text: Text) -> Text:
        return replace(text, language=self.name)

    def _pairs(self, sources: Sequence[Source], share: float = 1.0) -> Iterator[TextPairs]:
        """Original and derived lines with links, of the share that is drawn of the lines that a corpus holds."""
        first = 0
        for source in sources:
            sieve = FilterChain(source.filters)
            for chunk in self._chunks(source):
                drawn = generator(Purpose.SAMPLE, self.seed, first).random(len(chunk)) < share
                first += len(chunk)
                held = self._as_held(chunk)
                text = chunk.where(drawn & sieve.keep(held, held.words.lengths > 0) & (chunk.words.lengths > 0))
                if len(text):
                    made: Derived = self.change.apply(text, self.seed)
                    yield TextPairs(text, self._own(made.text), made.links)

    def _as_held(self, text: Text) -> Text:
        """The lines with the words that a corpus finds in them, whatever words their file tells."""
        if not text.tags:
            return text
        return Text(text.language, text.lines, self.word_tokenizer.split(text.lines), self.word_tokenizer.name)

    def _between_words(self, pairs: TextPairs) -> Ragged:
        """The links of pairs between the words that the recipe's word tokenizer finds on both sides."""
        before, after = (
            overlaps(self.word_tokenizer.split(side.lines), side.words) for side in (pairs.source, pairs.target)
        )
        return composed(composed(before, _given(pairs.links)), _turned(after))


def overlaps(one: Ragged, other: Ragged) -> Ragged:
    """Links between two ways to part the same lines into words: (i, j) where the i-th and the j-th share a character.

    Args:
        one: n rows of (start, end) spans, in order and disjoint.
        other: n rows of such spans.
    """
    width = 1 + max([int(side.flat[:, 1].max()) for side in (one, other) if len(side.flat)], default=0)
    spans = [(side.flat.astype(np.int64) + side.rows()[:, None] * width).T for side in (one, other)]
    (begin, end), (begin_other, end_other) = spans  # lines one behind another, so that one search does them all
    first = np.searchsorted(end_other, begin, "right")
    count = np.maximum(np.searchsorted(begin_other, end, "left") - first, 0)
    rows = np.repeat(one.rows(), count)
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(first, count) + step - (other.offsets[:-1] - other.offsets[0])[rows]
    links = np.stack([np.repeat(one.columns(), count), at], axis=1).astype(np.int32)
    return Ragged.from_lengths(links, np.bincount(rows, minlength=len(one)))


def _turned(links: Ragged) -> Ragged:
    """Links from the other side, sorted again."""
    order = np.lexsort((links.flat[:, 0], links.flat[:, 1], links.rows()))
    return Ragged.from_lengths(np.ascontiguousarray(links.flat[order][:, ::-1]), links.lengths)


def _given(links: Ragged | None) -> Ragged:
    return links if links is not None else Ragged.of([], width=2)


def _maybe(path: Path | None) -> AbstractContextManager[Any]:
    """A file to write lines to, or a place where they are lost."""

    def drop(_lines: Iterable[str]) -> None:
        """Nobody asks for these."""

    return nullcontext(drop) if path is None else writing(path)
