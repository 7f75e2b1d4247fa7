"""Derived data folders: files in a derived language with exact alignments, as the command and recipes write them.

Words are those of the file (treebanks, tagged tokens), otherwise those of a word tokenizer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data.filters import Filter, FilterChain
from interlace.derived import Chain, DerivedText
from interlace.derived.common.formats import write_as
from interlace.derived.common.normalizing import normalized, normalized_pairs
from interlace.derived.common.texts import composed, overlaps
from interlace.readers import Reader
from interlace.text import Text, TextPairs
from interlace.text.lines import write_lines, writing
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS

META = "derived.json"


# ---- what to write ----


@dataclass(frozen=True)
class OriginalFiles:
    """Original files, their reader, and the filters that lines of translations and dictionaries must pass."""

    reader: Reader
    paths: tuple[Path, ...]
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class DerivedFile:
    """A file in the derived language and format of the original, and files for its alignments, one for each side."""

    path: str
    source: OriginalFiles
    alignments: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """All files that are written."""
        return (self.path, *self.alignments)

    @property
    def sources(self) -> tuple[OriginalFiles, ...]:
        """What is read."""
        return (self.source,)


@dataclass(frozen=True)
class DerivedTranslations:
    """Lines of the original and the derived language as translations.

    path: the derived side. alignments: may be empty. share: of the lines, drawn by seed.
    """

    path: str
    original: str
    alignments: str
    sources: tuple[OriginalFiles, ...]
    share: float = 1.0

    @property
    def outputs(self) -> tuple[str, ...]:
        """All files that are written."""
        paths = (self.original, self.path)
        return (*paths, self.alignments) if self.alignments else paths


@dataclass(frozen=True)
class DerivedDictionary:
    """Each word with a letter and its replacement, by frequency in `sources`, or in the folder's derived files."""

    path: str
    sources: tuple[OriginalFiles, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """All files that are written."""
        return (self.path,)


FolderFile = DerivedFile | DerivedTranslations | DerivedDictionary


@dataclass(frozen=True)
class Derivation:
    """How a language is derived: `name` from `of`, by transformations of normalized and tokenized lines."""

    name: str
    of: str
    transformations: Chain
    seed: int
    word_tokenizer: str
    normalization: Normalization | None = None


# ---- the folder ----


@dataclass
class DerivedFileRecord:
    """What `derived.json` says about a file."""

    file: str
    reader: str
    lines: int = 0
    words: int = 0
    notes: dict[str, int] = field(default_factory=dict)

    def add_notes(self, notes: dict[str, int]) -> None:
        """Add up notes; those that count nothing are left out."""
        for note, count in notes.items():
            if count:
                self.notes[note] = self.notes.get(note, 0) + count


def write_folder(derivation: Derivation, files: Sequence[FolderFile], into: Path) -> dict[str, Any]:
    """Write files of a derived language, and `derived.json` with the transformations; return its content."""
    writer = _FolderWriter(derivation, into)
    about: dict[str, Any] = {
        "language": derivation.name,
        "of": derivation.of,
        "transformations": [
            {"name": step.name, **step.dump()}
            for step in derivation.transformations.transformations
        ],
        "seed": derivation.seed,
        "word_tokenizer": derivation.word_tokenizer,
        "files": [],
    }
    for file in files:
        try:
            match file:
                case DerivedFile():
                    about["files"].append(asdict(writer.write_file(file)))
                case DerivedTranslations():
                    writer.write_translations(file)
                case DerivedDictionary():
                    about["dictionary"] = writer.write_dictionary(file)
        except DataError as error:
            raise DataError(f"{file.path}: {error}") from None
    (into / META).write_text(
        json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return about


WriteLines = Callable[[Iterable[str]], None]
WordCounts = Counter[tuple[str, str]]


class _FolderWriter:
    """Writes files of one derived language, and counts how often each word of those with alignments became which."""

    def __init__(self, derivation: Derivation, into: Path) -> None:
        self._derivation = derivation
        self._into = into
        self._tokenizer = WORD_TOKENIZERS.build(derivation.word_tokenizer).of(derivation.of)
        self._counts: WordCounts = Counter()

    # ---- files ----

    def write_file(self, file: DerivedFile) -> DerivedFileRecord:
        record = DerivedFileRecord(file.path, file.source.reader.name)
        with ExitStack() as stack:
            alignments = [
                stack.enter_context(writing(self._into / name)) for name in file.alignments
            ]
            chunks = (
                self._derived_chunk(chunk, record, alignments)
                for chunk in self._chunks(file.source)
            )
            write_as(file.source.reader, self._into / file.path, chunks)
        if not record.lines:
            raise DataError(f"{file.source.paths[0]}: no lines to transform")
        return record

    def write_translations(self, file: DerivedTranslations) -> None:
        with ExitStack() as stack:
            writers = [stack.enter_context(writing(self._into / path)) for path in file.outputs]
            for text, derived in self._corpus_lines(file.sources, file.share):
                writers[0](text.lines)
                writers[1](derived.text.lines)
                if file.alignments:
                    writers[2](pharaoh_lines(self._tokenizer_links(text, derived)))

    def write_dictionary(self, file: DerivedDictionary) -> int:
        counts = self._counts
        if file.sources:
            counts = Counter()
            for text, derived in self._corpus_lines(file.sources):
                _count_words(counts, text, derived)
        entries = sorted(counts, key=lambda entry: (-counts[entry], entry))
        write_lines(self._into / file.path, map("\t".join, entries))
        return len(entries)

    # ---- text ----

    def _chunks(self, source: OriginalFiles) -> Iterator[Text | TextPairs]:
        """Yield normalized text with the words of the file, or of the tokenizer."""
        normalization = self._derivation.normalization
        chunk: Text | TextPairs
        for chunk in source.reader.read_chunks(list(source.paths), [self._derivation.of]):
            if isinstance(chunk, TextPairs):
                pairs = chunk if normalization is None else normalized_pairs(chunk, normalization)
                yield replace(
                    pairs,
                    source=self._tokenized(pairs.source),
                    target=self._tokenized(pairs.target),
                )
            else:
                yield self._tokenized(
                    chunk if normalization is None else normalized(chunk, normalization)
                )

    def _tokenized(self, text: Text) -> Text:
        if text.tags:
            return text
        return replace(
            text, words=self._tokenizer.split(text.lines), word_tokenizer=self._tokenizer.name
        )

    def _derived_chunk(
        self, chunk: Text | TextPairs, record: DerivedFileRecord, alignments: list[WriteLines]
    ) -> Text | TextPairs:
        """Transform text or pairs; write the alignments, and count words, lines and notes."""
        record.lines += len(chunk)
        transformations = self._derivation.transformations
        seed = self._derivation.seed
        if isinstance(chunk, Text):
            derived = transformations.apply(chunk, seed)
            self._record(chunk, derived, record, alignments)
            return replace(derived.text, language=self._derivation.name)
        pairs = transformations.apply_pairs(chunk, seed)
        source = DerivedText(pairs.pairs.source, pairs.source)
        target = DerivedText(pairs.pairs.target, pairs.target)
        self._record(chunk.source, source, record, alignments[:1])
        self._record(chunk.target, target, record, alignments[1:])
        record.add_notes(pairs.pairs.notes)
        return replace(
            pairs.pairs,
            source=replace(source.text, language=self._derivation.name),
            target=replace(target.text, language=self._derivation.name),
        )

    def _record(
        self,
        original: Text,
        derived: DerivedText,
        record: DerivedFileRecord,
        alignments: list[WriteLines],
    ) -> None:
        """Count words and notes, and write the alignment to the words that are found when the file is read again."""
        record.words += len(original.words.flat)
        record.add_notes(derived.text.notes)
        if not alignments:
            return
        _count_words(self._counts, original, derived)
        links = derived.links if original.tags else self._tokenizer_links(original, derived)
        alignments[0](pharaoh_lines(links))

    def _tokenizer_links(self, original: Text, derived: DerivedText) -> Ragged:
        """Return the links between the words that the tokenizer finds on both sides."""
        links = derived.links
        if original.tags:
            links = composed(overlaps(self._tokenizer.split(original.lines), original.words), links)
        words_read_again = self._tokenizer.split(derived.text.lines)
        if words_read_again == derived.text.words:
            return links
        return composed(links, overlaps(derived.text.words, words_read_again))

    def _corpus_lines(
        self, sources: Sequence[OriginalFiles], share: float = 1.0
    ) -> Iterator[tuple[Text, DerivedText]]:
        """Yield original and derived lines: the drawn share of those that a corpus keeps."""
        seed = self._derivation.seed
        first_line = 0
        for source in sources:
            filters = FilterChain(source.filters)
            for chunk in self._chunks(source):
                if isinstance(chunk, TextPairs):
                    raise DataError(
                        f"{source.paths[0]}: has pairs; translations and dictionary are made of text"
                    )
                is_drawn = generator(Purpose.SAMPLE, seed, first_line).random(len(chunk)) < share
                first_line += len(chunk)
                corpus = self._as_in_corpus(chunk)
                is_kept = filters.keep(corpus, corpus.words.lengths > 0)
                text = chunk.where(is_drawn & is_kept & (chunk.words.lengths > 0))
                if len(text):
                    yield text, self._derivation.transformations.apply(text, seed)

    def _as_in_corpus(self, text: Text) -> Text:
        """Return the lines with the words that a corpus finds in them, which may be others than the file has."""
        if not text.tags:
            return text
        return Text(
            text.language, text.lines, self._tokenizer.split(text.lines), self._tokenizer.name
        )


def _count_words(counts: WordCounts, original: Text, derived: DerivedText) -> None:
    """Count which words with a letter became which."""
    pairs = WordPairs.of([TextPairs(original, derived.text, derived.links)])
    lexicon = Lexicon.count(pairs, derived.links).words()
    for entry in range(len(lexicon)):
        source, target, count = lexicon[entry]
        counts[source, target] += int(count)
