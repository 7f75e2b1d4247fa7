"""Derived data folders: files in a derived language with exact alignments, as the command and recipes write them.

Words are those of the file (treebanks, tagged tokens), otherwise those of a word tokenizer.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import reverse_links
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import must_exist
from interlace.core.randomness import Purpose, generator
from interlace.data.filters import FilterChain
from interlace.derived import Chain, DerivedText, chain
from interlace.derived.common.formats import write_as
from interlace.derived.common.layout import spaced
from interlace.derived.common.normalization import normalized, normalized_pairs
from interlace.derived.common.sentences import with_joined_words
from interlace.derived.common.texts import composed, overlaps
from interlace.text import Text, TextPairs
from interlace.text.lines import read_blocks, write_lines, writing
from interlace.text.word_tokenizers import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from interlace.core.ragged import Ragged
    from interlace.data.filters import Filter
    from interlace.readers import Reader
    from interlace.text.normalization import Normalization

META = "meta.json"
_META_KEYS = {
    "language": str,
    "of": str,
    "transformations": list,
    "seed": int,
    "word_tokenizer": str,
    "blanks": bool,
}


# ---- what to write ----


@dataclass(frozen=True)
class OriginalFiles:
    """Original files, their reader, and the filters that lines of translations and dictionaries must pass."""

    reader: Reader
    paths: tuple[Path, ...]
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class DerivedFile:
    """A file in the derived language, in the format of the original.

    alignments: files for the alignment of original and derived words, one for text and one for each side of pairs.
    """

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

    path: the derived side. swapped: the derived language is the source of the pair. share: of the lines, drawn by seed.
    """

    path: str
    original: str
    alignments: str
    swapped: bool
    sources: tuple[OriginalFiles, ...]
    share: float = 1.0

    @property
    def outputs(self) -> tuple[str, ...]:
        """All files that are written."""
        return tuple(filter(None, (self.original, self.path, self.alignments)))


@dataclass(frozen=True)
class DerivedDictionary:
    """Each word with a letter and its replacement, by frequency.

    sources: text to count words in; empty: the derived files of the folder.
    """

    path: str
    sources: tuple[OriginalFiles, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """All files that are written."""
        return (self.path,)


FolderFile = DerivedFile | DerivedTranslations | DerivedDictionary


@dataclass(frozen=True)
class Derivation:
    """How a language is derived: `name` from `of`, by transformations of normalized and tokenized lines.

    blanks: put one blank between all words.
    """

    name: str
    of: str
    transformations: Chain
    seed: int
    word_tokenizer: str
    normalize: Normalization | None = None
    blanks: bool = False


# ---- the folder ----


def write_folder(derivation: Derivation, files: Sequence[FolderFile], into: Path) -> dict[str, Any]:
    """Write files of a derived language, and `meta.json` with the transformations; return its content.

    Raises:
        DataError: a file cannot be read, is empty, or lacks what a transformation needs.
        SettingsError: a format cannot be written.
    """
    writer = _FolderWriter(derivation, into)
    about: dict[str, Any] = {
        "language": derivation.name,
        "of": derivation.of,
        "transformations": [{"name": one.name, **one.dump()} for one in derivation.transformations.transformations],
        "seed": derivation.seed,
        "word_tokenizer": derivation.word_tokenizer,
        "blanks": derivation.blanks,
        "invertible": derivation.transformations.invertible,
        "files": [],
    }
    for file in files:
        try:
            _write(writer, file, about)
        except DataError as error:
            raise DataError(f"{file.path}: {error}") from None
    _write_meta(into, about)
    return about


def _write(writer: _FolderWriter, file: FolderFile, about: dict[str, Any]) -> None:
    if isinstance(file, DerivedFile):
        about["files"].append(writer.write_file(file))
    elif isinstance(file, DerivedTranslations):
        writer.write_translations(file)
    else:
        about["dictionary"] = writer.write_dictionary(file)


def read_derivation(folder: Path) -> Derivation:
    """Read how the files of a folder were derived, to undo it.

    Raises:
        DataError: the folder has no `meta.json`, or another one. SettingsError: the transformations are not invertible.
    """
    path = folder / META
    try:
        about = json.loads(must_exist(path, "record of a derived language").read_bytes())
        found = {key: about[key] for key in _META_KEYS}
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: not written by `interlace derive`") from None
    if wrong := [key for key, kind in _META_KEYS.items() if not isinstance(found[key], kind)]:
        raise DataError(f"{path}: the value of {wrong[0]!r} is not valid")
    transformations = chain(found.pop("transformations"), str(path))
    if not transformations.invertible:
        raise SettingsError(f"{path}: {transformations.name} is not invertible with these settings")
    return Derivation(name=found.pop("language"), transformations=transformations, **found)


def restore_folder(derivation: Derivation, files: Sequence[DerivedFile], into: Path, by: str) -> dict[str, Any]:
    """Undo the transformations of files, and write `meta.json`; return its content.

    by: where the derivation was read from.

    Raises:
        DataError: a file cannot be read or is empty. SettingsError: it has questions, whose answers are not recovered.
    """
    words = replace(
        derivation, word_tokenizer="whitespace" if derivation.blanks else derivation.word_tokenizer, blanks=False
    )
    writer = _FolderWriter(words, into)
    restored = [writer.restore(file) for file in files]
    about = {"language": derivation.of, "undone": derivation.name, "by": by, "files": restored}
    _write_meta(into, about)
    return about


def _write_meta(into: Path, about: dict[str, Any]) -> None:
    (into / META).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


class _FolderWriter:
    """Writes files of one derived language; `counts` holds how often each word became which."""

    def __init__(self, derivation: Derivation, into: Path) -> None:
        self._derivation = derivation
        self._transformations = derivation.transformations
        self._seed = derivation.seed
        self._into = into
        self._tokenizer = WORD_TOKENIZERS.build(derivation.word_tokenizer).of(derivation.of)
        self._counts: Counter[tuple[str, str]] = Counter()

    # ---- files ----

    def write_file(self, file: DerivedFile) -> dict[str, Any]:
        about = self._about(file)
        with ExitStack() as stack:
            writers = [stack.enter_context(writing(self._into / name)) for name in file.alignments]
            chunks = (self._derived_chunk(chunk, about, writers) for chunk in self._chunks(file.source))
            write_as(file.source.reader, self._into / file.path, chunks)
        _must_have_lines(file, about)
        about["notes"] = {what: count for what, count in about["notes"].items() if count}
        hashes = [content_hash(path) for path in (*file.source.paths, self._into / file.path)]
        return about | {"read": hashes[0], "written": hashes[-1]}

    def write_translations(self, file: DerivedTranslations) -> None:
        with ExitStack() as stack:
            original, own = (stack.enter_context(writing(self._into / name)) for name in (file.original, file.path))
            aligned = stack.enter_context(writing(self._into / file.alignments)) if file.alignments else None
            for text, derived in self._training(file.sources, file.share):
                original(text.lines)
                own(derived.text.lines)
                if aligned:
                    links = self._tokenizer_links(text, derived)
                    aligned(pharaoh_lines(reverse_links(links) if file.swapped else links))

    def write_dictionary(self, file: DerivedDictionary) -> int:
        counts = self._counts
        if file.sources:
            counts = Counter()
            for text, derived in self._training(file.sources):
                _count(counts, text, derived)
        entries = sorted(counts, key=lambda entry: (-counts[entry], entry))
        write_lines(self._into / file.path, map("\t".join, entries))
        return len(entries)

    def restore(self, file: DerivedFile) -> dict[str, Any]:
        about = self._about(file)

        def restored(chunk: Text | TextPairs) -> Text | TextPairs:
            about["lines"] += len(chunk)
            if isinstance(chunk, Text):
                return self._restored(chunk, about)
            if chunk.answers is not None:
                raise SettingsError(f"{file.path}: answers to questions cannot be restored; leave out this file")
            source, target = (self._restored(side, about) for side in (chunk.source, chunk.target))
            return replace(chunk, source=source, target=target, links=None)

        write_as(file.source.reader, self._into / file.path, map(restored, self._chunks(file.source)))
        _must_have_lines(file, about)
        return about

    def _about(self, file: DerivedFile) -> dict[str, Any]:
        reader = type(file.source.reader).__module__.rpartition(".")[2]
        return {"file": file.path, "reader": reader, "lines": 0, "words": 0, "notes": Counter()}

    # ---- text ----

    def _chunks(self, source: OriginalFiles) -> Iterator[Any]:
        """Yield normalized text with the words of the file, or of the tokenizer."""
        normalize = self._derivation.normalize
        chunk: Any
        for chunk in source.reader.read_chunks(list(source.paths), [self._derivation.of]):
            if isinstance(chunk, TextPairs):
                pairs = normalized_pairs(chunk, normalize) if normalize else chunk
                yield replace(pairs, source=self._tokenized(pairs.source), target=self._tokenized(pairs.target))
            else:
                yield self._tokenized(normalized(chunk, normalize) if normalize else chunk)

    def _tokenized(self, text: Text) -> Text:
        if text.tags:
            return text
        return replace(text, words=self._tokenizer.split(text.lines), word_tokenizer=self._tokenizer.name)

    def _derived_chunk(self, chunk: Any, about: dict[str, Any], writers: list[Any]) -> Any:
        """Transform text or pairs; write the alignments, and count words, lines and notes."""
        about["lines"] += len(chunk)
        if isinstance(chunk, Text):
            original = self._spaced(chunk)
            derived = self._transformations.apply(original, self._seed)
            self._record(chunk, original, derived, about, writers)
            return self._renamed(derived.text)
        if self._derivation.blanks and chunk.answers is not None:
            raise SettingsError("blanks: the positions of answers would change; leave out files with questions")
        originals = replace(chunk, source=self._spaced(chunk.source), target=self._spaced(chunk.target))
        done = self._transformations.apply_pairs(originals, self._seed)
        for place, (side, links) in enumerate((("source", done.source), ("target", done.target))):
            derived = DerivedText(getattr(done.pairs, side), links)
            self._record(getattr(chunk, side), getattr(originals, side), derived, about, writers[place : place + 1])
        about["notes"].update(done.pairs.notes)
        return replace(done.pairs, source=self._renamed(done.pairs.source), target=self._renamed(done.pairs.target))

    def _record(
        self, read: Text, original: Text, derived: DerivedText, about: dict[str, Any], writers: list[Any]
    ) -> None:
        """Count words and notes, and write the alignment to the words that are found when the file is read again."""
        about["words"] += len(original.words.flat)
        about["notes"].update(derived.text.notes)
        if not writers:
            return
        _count(self._counts, original, derived)
        links = derived.links
        if self._derivation.blanks and not read.tags:
            links = composed(overlaps(read.words, with_joined_words(read).words), links)
        elif not read.tags:
            links = self._tokenizer_links(original, derived)
        writers[0](pharaoh_lines(links))

    def _tokenizer_links(self, original: Text, derived: DerivedText) -> Ragged:
        """Return the links between the words that the tokenizer finds on both sides."""
        links = derived.links
        if original.tags:
            links = composed(overlaps(self._tokenizer.split(original.lines), original.words), links)
        again = self._tokenizer.split(derived.text.lines)
        return links if again == derived.text.words else composed(links, overlaps(derived.text.words, again))

    def _training(self, sources: Sequence[OriginalFiles], share: float = 1.0) -> Iterator[tuple[Text, DerivedText]]:
        """Yield original and derived lines: the drawn share of those that a corpus keeps."""
        first = 0
        for source in sources:
            filters = FilterChain(source.filters)
            for chunk in self._chunks(source):
                drawn = generator(Purpose.SAMPLE, self._seed, first).random(len(chunk)) < share
                first += len(chunk)
                corpus = self._as_corpus(chunk)
                kept = filters.keep(corpus, corpus.words.lengths > 0)
                text = chunk.where(drawn & kept & (chunk.words.lengths > 0))
                if len(text):
                    yield text, self._transformations.apply(text, self._seed)

    def _as_corpus(self, text: Text) -> Text:
        """Return the lines with the words that a corpus finds in them, whatever the words of the file."""
        if not text.tags:
            return text
        return Text(text.language, text.lines, self._tokenizer.split(text.lines), self._tokenizer.name)

    def _restored(self, text: Text, about: dict[str, Any]) -> Text:
        about["words"] += len(text.words.flat)
        return self._transformations.undo(text, self._seed)

    def _spaced(self, text: Text) -> Text:
        return spaced(with_joined_words(text)) if self._derivation.blanks else text

    def _renamed(self, text: Text) -> Text:
        return replace(text, language=self._derivation.name)


def _count(counts: Counter[tuple[str, str]], original: Text, derived: DerivedText) -> None:
    """Count which words with a letter became which."""
    pairs = WordPairs.of([derived.pairs(original)])
    lexicon = Lexicon.count(pairs, derived.links).words()
    for entry in range(len(lexicon)):
        source, target, count = lexicon[entry]
        counts[source, target] += int(count)


def _must_have_lines(file: DerivedFile, about: dict[str, Any]) -> None:
    if not about["lines"]:
        raise DataError(f"{file.source.paths[0]}: no lines to transform")


def content_hash(path: Path) -> str:
    """Return a hash of a file's uncompressed content."""
    digest = blake2b(digest_size=16)
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()
