"""The text of a corpus, and the encoded corpus that is built from it in one pass over its chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.alignments import StoredText
from interlace.data.artifacts import Artifact
from interlace.data.cache import content_key, plugin_hash
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.filters import Filter, FilterChain, chunk_of, sides
from interlace.data.store import read_meta
from interlace.readers import CHUNK, Reader, RowSubset
from interlace.text import Text, TextPairs
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WordTokenizer

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

AnyCorpus = Corpus | ParallelCorpus


@dataclass(frozen=True)
class CorpusText:
    """The text of one corpus: its files, how they are read, and what is done to every line.

    languages: one, or the two of parallel text.
    word_tokenizer: finds the words in normalized lines; words, links and tags of the files are for tasks.
    """

    languages: tuple[str, ...]
    files: tuple[Path, ...]
    reader: Reader
    word_tokenizer: WordTokenizer
    normalization: Normalization = field(default_factory=Normalization)
    filters: tuple[Filter, ...] = ()

    def __str__(self) -> str:
        return "-".join(self.languages)

    @cached_property
    def key(self) -> JsonObject:
        """Everything that the text depends on, as JSON data; files by their contents."""
        tokenizers = [self.word_tokenizer.of(language) for language in self.languages]
        return {
            "word_tokenizer": [
                self.word_tokenizer.name,
                *(tokenizer.package_versions for tokenizer in tokenizers),
                plugin_hash(type(self.word_tokenizer)),
            ],
            "languages": self.languages,
            "reader": [
                type(self.reader).__module__,
                self.reader.dump(),
                plugin_hash(type(self.reader)),
            ],
            "files": [content_key(path) for path in self.files],
            "normalization": self.normalization.dump(),
            "filters": [
                [rule.name, rule.dump(), plugin_hash(type(rule))] for rule in self.filters
            ],
        }

    def chunks(self, notes: Counter[str] | None = None) -> Iterator[list[Text]]:
        """Yield the sides of each chunk, normalized and split into words; rows that a corpus skips have no words.

        Word alignments and other data that are stored next to a corpus are computed from these chunks, so that both
        the line number in the files and the row in the corpus are known.

        notes: takes the counts of skipped rows: `empty` for a side without a word, `dropped by length` for the filter
            `length`; complete after the last chunk.

        Raises:
            DataError: a file is missing or malformed, or the reader yields pairs for one language.
        """
        notes = Counter() if notes is None else notes
        rules = FilterChain(self.filters)
        for chunk in self.reader.read_chunks(list(self.files), list(self.languages)):
            if len(sides(chunk)) != len(self.languages):
                raise DataError(
                    f"the reader yields text in {len(sides(chunk))} languages, expected {len(self.languages)}"
                )
            notes.update(chunk.notes)
            texts = [self._with_words(text) for text in sides(chunk)]
            is_complete = np.logical_and.reduce([text.words.lengths > 0 for text in texts])
            notes["empty"] += int((~is_complete).sum())
            kept = rules.keep(chunk_of(texts), is_complete)
            yield [_without_words(text, ~kept) for text in texts]
        notes.update({f"dropped by {name}": dropped for name, dropped in rules.dropped.items()})

    def side(self, language: str) -> Iterator[Text]:
        """Yield the chunks of one language; lines that a corpus skips have no words."""
        side = self.languages.index(language)
        for texts in self.chunks():
            yield texts[side]

    def lines(self, language: str) -> Iterator[str]:
        """Yield the normalized lines of one language, without those that filters drop.

        Without filters no words are needed, which is faster, and lines without a word are kept.
        """
        if self.filters:
            for text in self.side(language):
                yield from text.where(text.words.lengths > 0).lines
            return
        side = self.languages.index(language)
        for chunk in self.reader.read_chunks(list(self.files), list(self.languages)):
            text = sides(chunk)[side]
            yield from self.normalization.lines(text.lines, text.language)

    def by_file(self) -> list[CorpusText]:
        """Return the text of each file, or pair of line-aligned files; empty if the text must be read as a whole."""
        compares_rows = any(rule.compares_rows for rule in self.filters)
        if compares_rows or isinstance(self.reader, RowSubset):
            return []
        files_of_text: list[tuple[Path, ...]] = [(path,) for path in self.files]
        if self.reader.by_line and len(self.languages) == 2:
            half = len(self.files) // 2
            files_of_text = list(zip(self.files[:half], self.files[half:], strict=True))
        if len(files_of_text) < 2:
            return []
        return [replace(self, files=files) for files in files_of_text]

    def _with_words(self, text: Text) -> Text:
        lines = self.normalization.lines(text.lines, text.language)
        # the words of the reader are the same
        if lines is text.lines and text.word_tokenizer == self.word_tokenizer.name:
            return text
        words = self.word_tokenizer.of(text.language).split(lines)
        return Text(
            text.language,
            lines,
            words,
            self.word_tokenizer.name,
        )


def _without_words(text: Text, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> Text:
    """Return the text with no words in some rows, (n,) bool."""
    if not rows.any():
        return text
    lengths = text.words.lengths
    words = text.words.flat[np.repeat(~rows, lengths)]
    return Text(
        text.language,
        text.lines,
        Ragged.from_lengths(words, lengths * ~rows),
        text.word_tokenizer,
    )


class EncodedCorpus(Artifact[AnyCorpus]):
    """The corpus of a text, encoded with a vocabulary.

    Of a text in several files each file is encoded by itself, possibly by several workers, and then joined with the
    others. Lines without a word (pairs, if either side has none) are skipped and counted in `meta.json`; rows that the
    filters drop are counted there under `notes`.

    split: for messages. part_of_text: whether this is one of several files, which may have no rows left.
    """

    kind = "corpus"

    def __init__(
        self,
        text: CorpusText,
        vocab: Vocab,
        split: str,
        *,
        part_of_text: bool = False,
    ) -> None:
        self.text = text
        self.vocab = vocab
        self.split = split
        self.part_of_text = part_of_text

    def __str__(self) -> str:
        name = f"the corpus {self.text} ({self.split})"
        if self.part_of_text:
            return f"{name}, {self.text.files[0].name}"
        return name

    @cached_property
    def key(self) -> JsonObject:
        """The text and the vocabulary."""
        return {**self.text.key, "vocab": self.vocab.fingerprint, "part": self.part_of_text}

    def needs(self) -> Sequence[EncodedCorpus]:
        """Return the corpora of single files, if there are several and this one is not built yet."""
        return () if self.is_built else self._parts

    def ensure_built(self) -> Path:
        """Return the folder of the corpus, which is built first if it is not in the cache; its files' are removed."""
        folder = super().ensure_built()
        for part in self._parts:
            part.remove()
        return folder

    def build(self, folder: Path) -> None:
        """Encode the text, or join the corpora of its files."""
        if self._parts:
            folders = [part.ensure_built() for part in self._parts]
            join_corpora(folders, self.text.languages, folder)
        else:
            build_corpus(
                self.text,
                self.vocab,
                folder,
                can_be_empty=self.part_of_text,
            )

    def open(self, folder: Path) -> AnyCorpus:
        """Map the corpus into memory."""
        return _kind_of(self.text.languages).open(folder)

    @cached_property
    def _parts(self) -> list[EncodedCorpus]:
        """The corpora of single files; empty for a text that is read as a whole."""
        return [
            EncodedCorpus(
                text,
                self.vocab,
                self.split,
                part_of_text=True,
            )
            for text in self.text.by_file()
        ]


@dataclass(frozen=True, eq=False)
class StoredPairs(Artifact[StoredText]):
    """The lines and words of a parallel text, for objectives that make new text of them.

    Row i is the same pair as row i of the corpus of that text.
    """

    kind = "text"

    corpus_text: CorpusText

    def __str__(self) -> str:
        return f"the stored text of {self.corpus_text}"

    @cached_property
    def key(self) -> JsonObject:
        """The text."""
        return self.corpus_text.key

    def build(self, folder: Path) -> None:
        """Write the lines of all pairs that have words."""
        chunks = (
            TextPairs(source, target).where(source.words.lengths > 0)
            for source, target in self.corpus_text.chunks()
        )
        languages = self.corpus_text.languages
        word_tokenizer = self.corpus_text.word_tokenizer.name
        StoredText.write(
            folder,
            chunks,
            languages=languages,
            word_tokenizer=word_tokenizer,
        )

    def open(self, folder: Path) -> StoredText:
        """Map the text into memory."""
        return StoredText.open(folder)


def _kind_of(languages: Sequence[str]) -> type[Corpus | ParallelCorpus]:
    return Corpus if len(languages) == 1 else ParallelCorpus


def build_corpus(
    text: CorpusText,
    vocab: Vocab,
    into: Path | str,
    *,
    can_be_empty: bool = False,
) -> AnyCorpus:
    """Build the corpus of a text in the folder `into`, in one pass.

    Raises:
        DataError: nothing is left of the text (unless `can_be_empty`), or as `CorpusText.chunks`.
    """
    notes: Counter[str] = Counter()

    def rows_with_words() -> Iterator[Text]:
        for texts in text.chunks(notes):
            for side in texts:
                yield side.where(side.words.lengths > 0)

    def chunks() -> Iterator[Any]:
        encoded = vocab.encode_texts(rows_with_words())
        for sentences in encoded:
            yield sentences if len(text.languages) == 1 else Pairs(sentences, next(encoded))

    return _kind_of(text.languages).write(
        into,
        chunks(),
        languages=text.languages,
        word_tokenizer=text.word_tokenizer.name,
        notes=notes,
        can_be_empty=can_be_empty,
    )


def join_corpora(
    folders: Sequence[Path], languages: Sequence[str], into: Path | str
) -> AnyCorpus:
    """Write the corpus of several files: byte for byte what `build_corpus` writes of them; folders open one by one."""
    kind = _kind_of(languages)
    metas = [read_meta(folder, kind.KIND) for folder in folders]
    notes: Counter[str] = Counter()
    for meta in metas:
        notes.update(meta["notes"])

    def chunks() -> Iterable[Any]:
        for folder in folders:
            yield from kind.open(folder).slices(CHUNK)

    return kind.write(
        into,
        chunks(),
        languages=languages,
        word_tokenizer=metas[0]["word_tokenizer"],
        notes=notes,
    )
