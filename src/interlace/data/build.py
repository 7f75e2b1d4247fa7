"""From files to a corpus: read, normalise, split into words, encode, write; in one pass, in chunks."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.corpus import Corpus
from interlace.data.filters import FilterChain
from interlace.data.parallel import ParallelCorpus
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from interlace.data.filters import Filter
    from interlace.data.vocab import Vocab
    from interlace.readers import Reader
    from interlace.text.normalise import Normalise
    from interlace.text.words import WordTokenizer


def build_corpus(
    reader: Reader,
    paths: Sequence[Path | str],
    languages: Sequence[str],
    vocab: Vocab,
    word_tokenizer: WordTokenizer,
    normalise: Normalise,
    into: Path | str,
    filters: Sequence[Filter] = (),
) -> Corpus | ParallelCorpus:
    """A corpus of one language, or of the pairs of two, in the folder `into`.

    Words are what `word_tokenizer` finds on the normalised lines; words, links and tags of the files belong to tasks. Lines
    without a word (pairs, where either side has none) are skipped and counted in `meta.json`; so is what each of the
    filters drops, under `notes`.

    Raises:
        DataError: what the reader finds wrong, or nothing is left to write; nothing half-made stays behind.
    """
    files = [Path(path) for path in paths]
    skipped: Counter[str] = Counter()
    about: dict[str, Any] = {
        "sources": [str(path) for path in files],
        "reader": reader.dump(),
        "normalise": normalise.dump(),
        "made_with": {language: word_tokenizer.of(language).made_with for language in languages},
        "filters": [[rule.name, rule.dump()] for rule in filters],
    }

    def noted(chunks: Iterable[Any]) -> Iterator[Any]:
        yield from chunks
        about.update(skipped=skipped.pop("empty", 0), notes=dict(skipped))

    chunks = reader.read_chunks(files, list(languages))
    if len(languages) == 1:
        sentences = noted(_sentences(chunks, vocab, word_tokenizer, normalise, skipped, filters))
        return Corpus.write(
            into, sentences, language=languages[0], vocab=vocab, word_tokenizer=word_tokenizer.name, about=about
        )
    if len(languages) != 2:
        raise DataError(f"a corpus has one language or two, found {len(languages)}: {', '.join(languages)}")
    pairs = noted(_pairs(chunks, vocab, word_tokenizer, normalise, skipped, filters))
    both = (languages[0], languages[1])
    return ParallelCorpus.write(
        into, pairs, languages=both, vocab=vocab, word_tokenizer=word_tokenizer.name, about=about
    )


def _sentences(
    chunks: Iterable[Text | TextPairs],
    vocab: Vocab,
    word_tokenizer: WordTokenizer,
    normalise: Normalise,
    skipped: Counter[str],
    filters: Sequence[Filter],
) -> Iterator[Sentences]:
    texts = filtered_lines(chunks, word_tokenizer, normalise, skipped, filters)
    return vocab.encode_texts(text.where(text.words.lengths > 0) for text in texts)


def _pairs(
    chunks: Iterable[Text | TextPairs],
    vocab: Vocab,
    word_tokenizer: WordTokenizer,
    normalise: Normalise,
    skipped: Counter[str],
    filters: Sequence[Filter],
) -> Iterator[Pairs]:
    def sides() -> Iterator[tuple[Text, Text]]:
        for chunk in filtered_pairs(chunks, word_tokenizer, normalise, skipped, filters):
            kept = chunk.where(chunk.source.words.lengths > 0)
            yield kept.source, kept.target

    encoded = vocab.encode_texts(chain.from_iterable(sides()))
    for source in encoded:
        yield Pairs(source, next(encoded))


def filtered_lines(
    chunks: Iterable[Text | TextPairs],
    word_tokenizer: WordTokenizer,
    normalise: Normalise,
    skipped: Counter[str],
    filters: Sequence[Filter] = (),
) -> Iterator[Text]:
    """All lines that were read, as `filtered_pairs` gives pairs: those that a corpus leaves out have no words."""
    sieve = FilterChain(filters)
    for chunk in chunks:
        if isinstance(chunk, TextPairs):
            raise DataError("the reader gave pairs where lines of one language are expected")
        skipped.update(chunk.notes)
        text = _prepared(chunk, word_tokenizer, normalise)
        full = text.words.lengths > 0
        skipped["empty"] += int((~full).sum())
        kept = sieve.keep(text, full)
        yield text if kept.all() else _emptied(text, kept)
    _note_dropped(skipped, sieve)


def filtered_pairs(
    chunks: Iterable[Text | TextPairs],
    word_tokenizer: WordTokenizer,
    normalise: Normalise,
    skipped: Counter[str],
    filters: Sequence[Filter] = (),
) -> Iterator[TextPairs]:
    """All pairs that were read, normalised and split; those that a corpus leaves out have no words on either side.

    What is computed apart from a corpus and laid beside it, such as word links, reads its text from here with the same
    filters, and knows both the number of a pair in the files and in the corpus.

    skipped: counts what is left out, `empty` where a side has no word, `dropped by length` for the filter `length`;
        complete after the last chunk.
    """
    sieve = FilterChain(filters)
    for chunk in chunks:
        if not isinstance(chunk, TextPairs):
            raise DataError("the reader gave lines of one language where pairs are expected")
        skipped.update(chunk.notes)
        source, target = (_prepared(side, word_tokenizer, normalise) for side in (chunk.source, chunk.target))
        full = (source.words.lengths > 0) & (target.words.lengths > 0)
        skipped["empty"] += int((~full).sum())
        pairs = TextPairs(source, target)
        kept = sieve.keep(pairs, full)
        yield pairs if kept.all() else TextPairs(_emptied(source, kept), _emptied(target, kept))
    _note_dropped(skipped, sieve)


def _prepared(text: Text, word_tokenizer: WordTokenizer, normalise: Normalise) -> Text:
    """The text normalised, with the word tokenizer's words; the reader's own serve where they are the same."""
    lines = normalise.lines(text.lines, text.language)
    if lines is text.lines and text.word_tokenizer == word_tokenizer.name:
        return text
    return Text(text.language, lines, word_tokenizer.of(text.language).split(lines), word_tokenizer.name)


def _emptied(text: Text, full: NDArray[np.bool_]) -> Text:
    """The text without the words of some lines."""
    kept = text.words.flat[np.repeat(full, text.words.lengths)]
    return Text(text.language, text.lines, Ragged.from_lengths(kept, text.words.lengths * full), text.word_tokenizer)


def _note_dropped(skipped: Counter[str], sieve: FilterChain) -> None:
    skipped.update({f"dropped by {name}": count for name, count in sieve.dropped.items()})
