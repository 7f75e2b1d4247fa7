"""Derived data folders: files in a derived language with exact alignments, as the command and recipes write them.

Words are those of the file (treebanks, tagged tokens), otherwise those of a word tokenizer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data.filters import Filter, FilterChain, sides
from interlace.derived import Chain, DerivedText
from interlace.derived.common.formats import write_as
from interlace.derived.common.normalizing import normalized
from interlace.derived.common.texts import links_between
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
class FolderFile:
    """What is written from some original files; outputs: names of files in the folder."""

    outputs: tuple[str, ...]
    sources: tuple[OriginalFiles, ...]


class DerivedFile(FolderFile):
    """A file in the derived language and format of its source, and files for the alignments of each side or none."""


@dataclass(frozen=True)
class DerivedTranslations(FolderFile):
    """Files of original lines, derived lines and optionally their alignments; share: of the lines, drawn by seed."""

    share: float = 1.0


class DerivedDictionary(FolderFile):
    """A file of each word with a letter and its replacement, by frequency.

    Without sources, words are those of the derived files that have alignments.
    """


def outputs_of(files: Iterable[FolderFile]) -> list[str]:
    """Return the names of all files to write beside the record; raise a DataError if two have one name."""
    outputs: list[str] = []
    for file in files:
        for output in file.outputs:
            if output in (META, *outputs):
                raise DataError(
                    f"two files would be written as {output}; derive them separately"
                )
            outputs.append(output)
    return outputs


# ---- the folder ----

WordCounts = Counter[tuple[str, str]]  # of words and their replacements


@dataclass(frozen=True)
class Derivation:
    """How a language is derived: `name` from `of`, by transformations of normalized and tokenized lines."""

    name: str
    of: str
    transformations: Chain
    seed: int
    word_tokenizer: str
    normalization: Normalization = field(default_factory=lambda: Normalization(form="none"))

    @cached_property
    def split(self) -> Callable[[Sequence[str]], Ragged]:
        """The word tokenizer of the original language."""
        return WORD_TOKENIZERS.build(self.word_tokenizer).of(self.of).split

    def apply(self, text: Text) -> DerivedText:
        """Transform a text."""
        return self.transformations.apply(text, self.seed)

    def chunks(self, source: OriginalFiles) -> Iterator[Text | TextPairs]:
        """Yield normalized text with the words of the files, or of the tokenizer."""
        for chunk in source.reader.read_chunks(list(source.paths), [self.of]):
            if isinstance(chunk, TextPairs):
                source_text = self._prepared(chunk.source)
                target_text = self._prepared(chunk.target)
                yield replace(chunk, source=source_text, target=target_text)
            else:
                yield self._prepared(chunk)

    def _prepared(self, text: Text) -> Text:
        text = normalized(text, self.normalization)
        if text.tags:
            return text
        return replace(text, words=self.split(text.lines), word_tokenizer=self.word_tokenizer)

    def tokenized(self, text: Text) -> Text:
        """Return prepared lines with the words of the tokenizer, which may be others than a file has."""
        if text.word_tokenizer == self.word_tokenizer:
            return text
        return Text(text.language, text.lines, self.split(text.lines), self.word_tokenizer)

    def links(self, original: Text, derived: DerivedText) -> Ragged:
        """Return the links between the words that the tokenizer finds in the original and in the derived lines."""
        words = self.tokenized(original).words
        derived_words = self.split(derived.text.lines)
        return links_between(words, original.words, derived, derived_words)

    def corpus_lines(
        self, sources: Sequence[OriginalFiles], share: float = 1.0
    ) -> Iterator[tuple[Text, DerivedText]]:
        """Yield original and derived lines: the drawn share of those that a corpus keeps."""
        first_line = 0
        for source in sources:
            filters = FilterChain(source.filters)
            for chunk in self.chunks(source):
                if isinstance(chunk, TextPairs):
                    raise DataError(
                        f"{source.paths[0]}: has pairs; translations and dictionary are made of text"
                    )
                rng = generator(Purpose.SAMPLE, self.seed, first_line)
                is_drawn = rng.random(len(chunk)) < share
                first_line += len(chunk)
                corpus = self.tokenized(chunk)
                is_kept = filters.keep(corpus, corpus.words.lengths > 0)
                text = chunk.where(is_drawn & is_kept & (chunk.words.lengths > 0))
                if len(text):
                    yield text, self.apply(text)


def write_folder(derivation: Derivation, files: Sequence[FolderFile], into: Path) -> JsonObject:
    """Write files of a derived language, and `derived.json` with the transformations; return its content."""
    transformations = []
    for step in derivation.transformations.transformations:
        transformations.append({"name": step.name, **step.dump()})
    about: JsonObject = {
        "language": derivation.name,
        "of": derivation.of,
        "transformations": transformations,
        "seed": derivation.seed,
        "word_tokenizer": derivation.word_tokenizer,
        "files": [],
    }
    counts: WordCounts = Counter()  # of the derived files that have alignments
    for file in files:
        paths = [into / output for output in file.outputs]
        try:
            match file:
                case DerivedFile():
                    about["files"].append(_write_file(derivation, file, paths, counts))
                case DerivedTranslations():
                    _write_translations(derivation, file, paths)
                case DerivedDictionary():
                    for text, derived in derivation.corpus_lines(file.sources):
                        _count_words(counts, text, derived)
                    entries = sorted(counts, key=lambda entry: (-counts[entry], entry))
                    write_lines(paths[0], map("\t".join, entries))
                    about["dictionary"] = len(entries)
        except DataError as error:
            raise DataError(f"{file.outputs[0]}: {error}") from None
    content = json.dumps(about, indent=2, ensure_ascii=False)
    (into / META).write_text(content + "\n", encoding="utf-8")
    return about


def _write_file(
    derivation: Derivation,
    file: DerivedFile,
    paths: Sequence[Path],
    counts: WordCounts,
) -> JsonObject:
    """Write a derived file and its alignments, count their words, and return the file's entry in `derived.json`."""
    [source] = file.sources
    notes: Counter[str] = Counter()
    entry: JsonObject = {
        "file": file.outputs[0],
        "reader": source.reader.name,
        "lines": 0,
        "words": 0,
    }

    def derived_chunks(writers: Sequence[Callable[[Iterable[str]], None]]) -> Iterator[Any]:
        for chunk in derivation.chunks(source):
            entry["lines"] += len(chunk)
            texts: list[Text] = []
            for side, original in enumerate(sides(chunk)):
                derived = derivation.apply(original)
                texts.append(derived.text)
                entry["words"] += len(original.words.flat)
                notes.update(derived.text.notes)
                if writers:
                    _count_words(counts, original, derived)
                    has_words = bool(original.tags)
                    links = derived.links if has_words else derivation.links(original, derived)
                    writers[side](pharaoh_lines(links))
            if isinstance(chunk, Text):
                yield texts[0]
            else:
                notes.update(chunk.notes)
                yield replace(chunk, source=texts[0], target=texts[1])

    with ExitStack() as stack:
        writers = [stack.enter_context(writing(path)) for path in paths[1:]]
        write_as(source.reader, paths[0], derived_chunks(writers))
    if not entry["lines"]:
        raise DataError(f"{source.paths[0]}: no lines to transform")
    return entry | {"notes": dict(+notes)}


def _write_translations(
    derivation: Derivation, file: DerivedTranslations, paths: Sequence[Path]
) -> None:
    with ExitStack() as stack:
        writers = [stack.enter_context(writing(path)) for path in paths]
        for text, derived in derivation.corpus_lines(file.sources, file.share):
            writers[0](text.lines)
            writers[1](derived.text.lines)
            if len(writers) > 2:
                writers[2](pharaoh_lines(derivation.links(text, derived)))


def _count_words(counts: WordCounts, original: Text, derived: DerivedText) -> None:
    """Count which words with a letter became which."""
    links = derived.links
    pairs = WordPairs.of([TextPairs(original, derived.text, links)])
    lexicon = Lexicon.count(pairs, links).words()
    for source, target, count in lexicon:
        counts[source, target] += int(count)
