"""Corpus building in one pass over chunks of text: read, normalize, split into words, filter, encode, write."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.filters import Filter, FilterChain, sides
from interlace.data.store import read_meta
from interlace.data.vocab import Vocab
from interlace.readers import CHUNK, Reader
from interlace.text import Text, TextPairs
from interlace.text.lines import FileLines
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WordTokenizer


def build_corpus(
    reader: Reader,
    paths: Sequence[Path | str] | Sequence[FileLines],
    languages: Sequence[str],
    vocab: Vocab,
    word_tokenizer: WordTokenizer,
    normalization: Normalization,
    into: Path | str,
    filters: Sequence[Filter] = (),
) -> Corpus | ParallelCorpus:
    """Build a corpus of one language, or of the pairs of two, in the folder `into`.

    Words are found by `word_tokenizer` in the normalized lines; words, links and tags of the files are for tasks. Lines
    without a word (pairs, if either side has none) are skipped and counted in `meta.json`; rows that the filters drop
    are counted there under `notes`. Raise a DataError if nothing is left.

    paths: files; or one part of `Reader.cut`, for `join_parts`, whose corpus may be empty.
    """
    files: list[Any] = [path if isinstance(path, FileLines) else Path(path) for path in paths]
    is_part = any(isinstance(path, FileLines) for path in paths)
    skipped: Counter[str] = Counter()
    about: dict[str, Any] = {
        "sources": [str(getattr(file, "path", file)) for file in files],
        "reader": reader.dump(),
        "normalization": normalization.dump(),
        "package_versions": {language: word_tokenizer.of(language).package_versions for language in languages},
        "filters": [[rule.name, rule.dump()] for rule in filters],
    }

    def noted(chunks: Iterable[Any]) -> Iterator[Any]:
        yield from chunks
        about.update(skipped=skipped.pop("empty", 0), notes=dict(sorted(skipped.items())))

    if len(languages) not in {1, 2}:
        raise DataError(f"a corpus has one language or two, found {len(languages)}: {listed(languages)}")
    chunks = reader.read_chunks(files, list(languages))
    kept = (
        text.where(text.words.lengths > 0)
        for texts in filtered_text(chunks, len(languages), word_tokenizer, normalization, skipped, filters)
        for text in texts
    )
    encoded = vocab.encode_texts(kept)
    rows: Iterator[Any] = encoded if len(languages) == 1 else (Pairs(source, next(encoded)) for source in encoded)
    kind = Corpus if len(languages) == 1 else ParallelCorpus
    return kind.write(
        into,
        noted(rows),
        languages=languages,
        vocab=vocab,
        word_tokenizer=word_tokenizer.name,
        about=about,
        can_be_empty=is_part,
    )


def join_parts(
    folders: Sequence[Path], kind: type[Corpus | ParallelCorpus], vocab: Vocab, into: Path | str
) -> Corpus | ParallelCorpus:
    """Write the corpus of all parts, opened one by one, byte for byte what `build_corpus` writes of the whole input."""
    metas = [read_meta(folder, kind.KIND, vocab) for folder in folders]
    first, notes = metas[0], Counter[str]()
    about = {name: first[name] for name in ("reader", "normalization", "package_versions", "filters")}
    sources = zip(*(meta["sources"] for meta in metas), strict=True)  # of each side
    for meta in metas:
        notes.update(meta["notes"])
    about = {"sources": [path for side in sources for path in dict.fromkeys(side)], **about}
    about |= {"skipped": sum(meta["skipped"] for meta in metas), "notes": dict(sorted(notes.items()))}
    chunks: Any = (chunk for folder in folders for chunk in kind.open(folder, vocab).slices(CHUNK))
    languages, word_tokenizer = first["languages"], first["word_tokenizer"]
    return kind.write(into, chunks, languages=languages, vocab=vocab, word_tokenizer=word_tokenizer, about=about)


def filtered_text(
    chunks: Iterable[Text | TextPairs],
    count: int,
    word_tokenizer: WordTokenizer,
    normalization: Normalization,
    skipped: Counter[str],
    filters: Sequence[Filter] = (),
) -> Iterator[list[Text]]:
    """Yield the `count` sides of each chunk, normalized and split into words; rows that a corpus skips have no words.

    Data stored next to a corpus, such as word alignments, is computed from this text with the same filters, so that
    both the line number in the files and the row in the corpus are known.

    skipped: counts of what is skipped: `empty` for a side without a word, `dropped by length` for the filter `length`;
        complete after the last chunk.
    """
    rules = FilterChain(filters)
    for chunk in chunks:
        if len(sides(chunk)) != count:
            found, expected = ("pairs", "lines of one language")[:: 1 if count == 1 else -1]
            raise DataError(f"the reader yields {found}, expected {expected}")
        skipped.update(chunk.notes)
        texts = []
        for text in sides(chunk):
            lines = normalization.lines(text.lines, text.language)
            if lines is text.lines and text.word_tokenizer == word_tokenizer.name:  # the reader's words are the same
                texts.append(text)
            else:
                spans = word_tokenizer.of(text.language).split(lines)
                texts.append(Text(text.language, lines, spans, word_tokenizer.name))
        full = np.logical_and.reduce([text.words.lengths > 0 for text in texts])
        skipped["empty"] += int((~full).sum())
        kept = rules.keep(texts[0] if count == 1 else TextPairs(texts[0], texts[1]), full)
        if not kept.all():
            for side, text in enumerate(texts):
                words = text.words.flat[np.repeat(kept, text.words.lengths)]
                columns = Ragged.from_lengths(words, text.words.lengths * kept)
                texts[side] = Text(text.language, text.lines, columns, text.word_tokenizer)
        yield texts
    skipped.update({f"dropped by {name}": dropped for name, dropped in rules.dropped.items()})
