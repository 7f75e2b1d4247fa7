"""The Python API of word alignment: parallel text, alignments, lexicons, phrases and projected annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.aligners import ALIGNERS, DEFAULT_ALIGNER, Alignments, FittedAligner
from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable
from interlace.alignment.projection import Labels
from interlace.alignment.projection import project as project_labels
from interlace.core.errors import DataError, SettingsError, dependency_errors
from interlace.core.ragged import Ragged
from interlace.readers import READERS, read_pairs, reader_for
from interlace.readers.common.files import find_files, find_sides
from interlace.readers.common.tokenization import (
    AUTO,
    check_not_numbered,
    reader_with_word_tokenizer,
    word_tokenizer_for,
)
from interlace.text import LanguagePair, TextPairs
from interlace.text.lines import plain_name

if TYPE_CHECKING:
    from interlace.report.svg import Drawing


@dataclass(frozen=True)
class ParallelText:
    """Sentences and their translations, with their words.

    chunks: the text in parts, all with the same languages and word tokenizer.

    >>> pairs = ParallelText.from_lists(["the house"], ["das Haus"], languages=("en", "de"))
    >>> len(pairs), pairs.languages, pairs.words(0)
    (1, ('en', 'de'), (['the', 'house'], ['das', 'Haus']))
    """

    chunks: tuple[TextPairs, ...]

    @classmethod
    def from_lists(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        languages: LanguagePair = ("source", "target"),
        word_tokenizer: str = AUTO,
    ) -> ParallelText:
        """Return pairs of sentences in memory; `target[n]` translates `source[n]`.

        languages: names of both sides, by which rules of languages are looked up.
        word_tokenizer: a name of `interlace list word-tokenizers`; `"auto"`: `unicode` if the text is untokenized,
            `whitespace` if it is tokenized.

        Raises:
            DataError: the numbers of sentences differ, or there are none. SettingsError: no such word tokenizer.
        """
        if isinstance(source, str) or isinstance(target, str) or isinstance(languages, str):
            raise SettingsError(
                "expected lists of sentences and a pair of languages, found a string"
            )
        if not len(source):
            raise DataError("no sentence pairs")
        for number, line in enumerate([*source, *target]):
            if not isinstance(line, str):
                raise DataError(
                    f"sentence {number % len(source)}: expected a string, found {line!r}"
                )
        if word_tokenizer == AUTO:
            sample = TextPairs.of(source[:500], target[:500], languages)
            word_tokenizer = word_tokenizer_for(sample.source, sample.target)
        return cls(
            (
                TextPairs.of(
                    source,
                    target,
                    languages,
                    word_tokenizer,
                ),
            )
        )

    @classmethod
    @dependency_errors()
    def from_files(
        cls,
        source: Path | str,
        target: Path | str | None = None,
        languages: LanguagePair | None = None,
        word_tokenizer: str = AUTO,
        reader: str = "",
    ) -> ParallelText:
        """Return pairs of two line-by-line parallel files, or of one that a reader splits; plain or compressed.

        source, target: paths, folders, or patterns with `*`, `?` and `**`. languages: default: the suffixes of the
            files. word_tokenizer: as in `from_lists`. reader: see `interlace list readers`; default: `lines` for two
            files; for one by its suffix, else `joined` (`source ||| target`).

        Raises:
            DataError: a file is missing or empty, or the sides differ in length. SettingsError: no such reader.
        """
        if target is None:
            codes = languages or ("source", "target")
            paths = find_files(Path(), str(source))
            name = reader or reader_for(paths[0], "joined")
        else:
            codes = languages or (_suffix(source), _suffix(target))
            paths = find_sides(Path(), (str(source), str(target)), codes)
            name = reader or "lines"
        if not reader and name in {"lines", "joined"}:
            for path in paths:
                check_not_numbered(path)
        word_reader = reader_with_word_tokenizer(
            READERS.get(name),
            paths,
            codes,
            word_tokenizer,
            "reader",
        )
        return cls(tuple(read_pairs(word_reader, paths, list(codes))))

    def __len__(self) -> int:
        return sum(map(len, self.chunks))

    def __repr__(self) -> str:
        return (
            f"<{len(self):,} pairs, {'-'.join(self.languages)}, words by {self.word_tokenizer}>"
        )

    @property
    def languages(self) -> LanguagePair:
        """Source and target language."""
        return self.chunks[0].source.language, self.chunks[0].target.language

    @property
    def word_tokenizer(self) -> str:
        """The name of the word tokenizer."""
        return self.chunks[0].source.word_tokenizer

    @cached_property
    def types(self) -> WordPairs:
        """The words as numbers, the input of aligners."""
        return WordPairs.of(self.chunks)

    def words(self, number: int) -> tuple[list[str], list[str]]:
        """Return the words of both sides of a pair."""
        types = self.types
        source_words = [types.source_types[word] for word in types.source[number]]
        target_words = [types.target_types[word] for word in types.target[number]]
        return source_words, target_words

    def lines(self) -> tuple[list[str], list[str]]:
        """Return the sentences of both sides."""
        source_lines = []
        target_lines = []
        for chunk in self.chunks:
            source_lines += chunk.source.lines
            target_lines += chunk.target.lines
        return source_lines, target_lines


def _suffix(path: Path | str) -> str:
    return plain_name(path).suffix.removeprefix(".") or Path(path).stem


@dataclass(frozen=True)
class AlignedPairs(Sequence[list[tuple[int, int]]]):
    """Sentence pairs with their word alignments; `alignments[0]` are the links of the first pair, from 0.

    aligner: the aligner they are from; it also aligns other pairs (`align(pairs, aligner)`) and can be saved.
    """

    pairs: ParallelText
    alignments: Alignments
    aligner: FittedAligner

    def __len__(self) -> int:
        return len(self.alignments)

    def __repr__(self) -> str:
        return f"<{len(self.alignments.links.flat):,} links of {self.pairs!r}>"

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[index] for index in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"pair {number} of {len(self)}")
        links = self.alignments.links[number % len(self)]
        return [(int(source), int(target)) for source, target in links]

    def to_pharaoh(self) -> list[str]:
        """Return a line such as `0-0 1-2` for each pair."""
        return list(pharaoh_lines(self.alignments.links))

    def plot(self, number: int = 0) -> Drawing:
        """Return the alignment matrix of a pair, which notebooks show; its `document()` is SVG."""
        from interlace.report.alignment_matrix import AlignmentMatrix, alignment_matrix

        words = self.pairs.types
        links = self.alignments.links
        confidence = Ragged(self.alignments.confidence, links.offsets - links.offsets[0])
        matrix = AlignmentMatrix(
            source=[words.source_types[word] for word in words.source[number]],
            target=[words.target_types[word] for word in words.target[number]],
            links=links[number].tolist(),
            confidence=confidence[number].tolist(),
            languages=words.languages if words.languages != ("source", "target") else None,
        )
        return alignment_matrix(matrix)


@dependency_errors()
def align(
    pairs: ParallelText, aligner: str | FittedAligner = DEFAULT_ALIGNER, **settings: Any
) -> AlignedPairs:
    """Align the words of sentence pairs.

    aligner: a name of `interlace list aligners`, trained on these pairs with `settings`; or a trained one.

    Raises:
        SettingsError: no such aligner or setting. DataError: no pair has words on both sides.

    >>> pairs = ParallelText.from_lists(["the house", "the garden"] * 9, ["das Haus", "der Garten"] * 9)
    >>> align(pairs, "diagonal").to_pharaoh()[0]
    '0-0 1-1'
    """
    if isinstance(aligner, str):
        from interlace.core.bars import watching

        untrained = ALIGNERS.get(aligner).read(settings, f"aligner {aligner}")
        with watching() as progress:
            trained = untrained.fit(pairs.types, progress=progress)
        return AlignedPairs(
            pairs,
            trained.align_training_pairs(pairs.types),
            trained,
        )
    if settings:
        raise SettingsError(
            f"a trained aligner has its settings; leave out {', '.join(settings)}"
        )
    return AlignedPairs(pairs, aligner.align(pairs.types), aligner)


def lexicon(
    aligned: AlignedPairs,
    *,
    mutual: bool = False,
    min_count: float = 1,
    top: int = 0,
    words_only: bool = False,
) -> Lexicon:
    """Return the bilingual lexicon of aligned text.

    mutual: only entries that are the most frequent translation of each other. min_count: minimum number of links of an
    entry. top: maximum translations of a word; 0: all. words_only: only words with a letter.

    >>> pairs = ParallelText.from_lists(["the house", "the garden"] * 9, ["das Haus", "der Garten"] * 9)
    >>> lexicon(align(pairs, "diagonal"), mutual=True).translations("house")
    {'Haus': 9.0}
    """
    entries = Lexicon.count(aligned.pairs.types, aligned.alignments.links)
    return chosen_entries(
        entries, mutual=mutual, min_count=min_count, top=top, words_only=words_only
    )


def chosen_entries(
    entries: Lexicon, *, mutual: bool, min_count: float, top: int, words_only: bool
) -> Lexicon:
    """Return the entries of a lexicon as `lexicon` and its command choose them."""
    if words_only:
        entries = entries.words()
    if mutual:
        entries = entries.mutual()
    entries = entries.at_least(min_count)
    return entries.top(top) if top else entries


def phrases(aligned: AlignedPairs, max_length: int = 4, **rules: Any) -> PhraseTable:
    """Return the phrase table of aligned text, with Moses' four scores.

    max_length: of a phrase in words, on both sides (1 to 8). rules: `min_count` and `top` (translations of a source
    phrase; 0: all), `unaligned_borders`, `min_confidence`.

    Raises:
        SettingsError: no such rule, or a value out of range.

    >>> pairs = ParallelText.from_lists(["the house", "the garden"] * 9, ["das Haus", "der Garten"] * 9)
    >>> pair = phrases(align(pairs, "diagonal"), max_length=2)[0]
    >>> pair.source, pair.target
    (('garden',), ('Garten',))
    """
    from interlace.alignment.phrase_counts import count_phrases  # compiles loops
    from interlace.core.bars import watching

    table_rules = TableRules.read({"max_phrase_length": max_length, **rules}, "phrases")
    with watching():
        return count_phrases(aligned.pairs.types, aligned.alignments.links, table_rules)


def project(labels: Labels, aligned: AlignedPairs, missing: str = "_") -> list[list[str]]:
    """Return tags or names (IOB2) of the target words, from those of the source words.

    labels: one for each of `pairs.words(number)[0]`. missing: the tag of target words without a link.

    Raises:
        DataError: the labels are not as many as the words. SettingsError: a string in place of a list.

    >>> pairs = ParallelText.from_lists(["the house", "the garden"] * 9, ["das Haus", "der Garten"] * 9)
    >>> project([["DET", "NOUN"]] * 18, align(pairs, "diagonal"))[0]
    ['DET', 'NOUN']
    """
    for row in (labels, *labels):
        if isinstance(row, str):
            raise SettingsError(
                f"labels: expected a list for each pair, found the string {row!r}"
            )
    links = aligned.alignments.links
    confidence = aligned.alignments.confidence
    types = aligned.pairs.types
    try:
        return project_labels(
            labels, links, confidence, (types.source.lengths, types.target.lengths), missing
        )
    except DataError as error:
        raise DataError(
            f"{error}; `pairs.words(NUMBER)` are the words, by {aligned.pairs.word_tokenizer!r}"
        ) from None
