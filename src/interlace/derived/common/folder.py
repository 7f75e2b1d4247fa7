"""Derived data folders: files in a derived language with exact alignments, as the command and recipes write them.

Words are those of the file (treebanks, tagged tokens), otherwise those of a word tokenizer.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.errors import DataError
from interlace.core.files import must_be_replaceable, must_exist
from interlace.core.json_files import json_record, read_json
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data.filters import Filter, FilterChain
from interlace.derived import Chain, DerivedText
from interlace.derived.common.formats import write_as
from interlace.derived.common.texts import composed, overlaps
from interlace.readers import READERS, Reader
from interlace.text import Text, TextPairs
from interlace.text.lines import plain_name, read_blocks, read_lines, write_lines, writing
from interlace.text.normalization import Normalization
from interlace.text.scripts import scripts_of
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

    path: the derived side. share: of the lines, drawn by seed.
    """

    path: str
    original: str
    alignments: str
    sources: tuple[OriginalFiles, ...]
    share: float = 1.0

    @property
    def outputs(self) -> tuple[str, ...]:
        """All files that are written."""
        return tuple(filter(None, (self.original, self.path, self.alignments)))


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
    normalize: Normalization | None = None


# ---- the folder ----


def write_folder(derivation: Derivation, files: Sequence[FolderFile], into: Path) -> dict[str, Any]:
    """Write files of a derived language, and `derived.json` with the transformations; return its content."""
    writer = _FolderWriter(derivation, into)
    about: dict[str, Any] = {
        "language": derivation.name,
        "of": derivation.of,
        "transformations": [{"name": one.name, **one.dump()} for one in derivation.transformations.transformations],
        "seed": derivation.seed,
        "word_tokenizer": derivation.word_tokenizer,
        "files": [],
    }
    for file in files:
        try:
            match file:
                case DerivedFile():
                    about["files"].append(writer.write_file(file))
                case DerivedTranslations():
                    writer.write_translations(file)
                case DerivedDictionary():
                    about["dictionary"] = writer.write_dictionary(file)
        except DataError as error:
            raise DataError(f"{file.path}: {error}") from None
    (into / META).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return about


@json_record
class _Written(TypedDict):
    language: str
    files: list[Any]


class _FolderWriter:
    """Writes files of one derived language; `counts` holds how often each word became which."""

    def __init__(self, derivation: Derivation, into: Path) -> None:
        self._derivation = derivation
        self._into = into
        self._tokenizer = WORD_TOKENIZERS.build(derivation.word_tokenizer).of(derivation.of)
        self._counts: Counter[tuple[str, str]] = Counter()

    # ---- files ----

    def write_file(self, file: DerivedFile) -> dict[str, Any]:
        about: dict[str, Any] = {"file": file.path, "reader": file.source.reader.name}
        about |= {"lines": 0, "words": 0, "notes": Counter()}
        with ExitStack() as stack:
            writers = [stack.enter_context(writing(self._into / name)) for name in file.alignments]
            chunks = (self._derived_chunk(chunk, about, writers) for chunk in self._chunks(file.source))
            write_as(file.source.reader, self._into / file.path, chunks)
        if not about["lines"]:
            raise DataError(f"{file.source.paths[0]}: no lines to transform")
        about["notes"] = {what: count for what, count in about["notes"].items() if count}
        read, *_, written = (content_hash(path) for path in (*file.source.paths, self._into / file.path))
        return about | {"read": read, "written": written}

    def write_translations(self, file: DerivedTranslations) -> None:
        with ExitStack() as stack:
            original, own = (stack.enter_context(writing(self._into / name)) for name in (file.original, file.path))
            aligned = stack.enter_context(writing(self._into / file.alignments)) if file.alignments else None
            for text, derived in self._training(file.sources, file.share):
                original(text.lines)
                own(derived.text.lines)
                if aligned:
                    links = self._tokenizer_links(text, derived)
                    aligned(pharaoh_lines(links))

    def write_dictionary(self, file: DerivedDictionary) -> int:
        counts = self._counts
        if file.sources:
            counts = Counter()
            for text, derived in self._training(file.sources):
                _count(counts, text, derived)
        entries = sorted(counts, key=lambda entry: (-counts[entry], entry))
        write_lines(self._into / file.path, map("\t".join, entries))
        return len(entries)

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
        apply, seed = self._derivation.transformations, self._derivation.seed
        if isinstance(chunk, Text):
            derived = apply.apply(chunk, seed)
            self._record(chunk, derived, about, writers)
            return replace(derived.text, language=self._derivation.name)
        done = apply.apply_pairs(chunk, seed)
        sides: dict[str, Any] = {}
        for place, (side, links) in enumerate((("source", done.source), ("target", done.target))):
            derived = DerivedText(getattr(done.pairs, side), links)
            self._record(getattr(chunk, side), derived, about, writers[place : place + 1])
            sides[side] = replace(derived.text, language=self._derivation.name)
        about["notes"].update(done.pairs.notes)
        return replace(done.pairs, **sides)

    def _record(self, original: Text, derived: DerivedText, about: dict[str, Any], writers: list[Any]) -> None:
        """Count words and notes, and write the alignment to the words that are found when the file is read again."""
        about["words"] += len(original.words.flat)
        about["notes"].update(derived.text.notes)
        if not writers:
            return
        _count(self._counts, original, derived)
        links = derived.links if original.tags else self._tokenizer_links(original, derived)
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
        first, seed = 0, self._derivation.seed
        for source in sources:
            filters = FilterChain(source.filters)
            for chunk in self._chunks(source):
                drawn = generator(Purpose.SAMPLE, seed, first).random(len(chunk)) < share
                first += len(chunk)
                corpus = chunk
                if chunk.tags:  # a corpus finds other words in the lines than the file has
                    words = self._tokenizer.split(chunk.lines)
                    corpus = Text(chunk.language, chunk.lines, words, self._tokenizer.name)
                kept = filters.keep(corpus, corpus.words.lengths > 0)
                text = chunk.where(drawn & kept & (chunk.words.lengths > 0))
                if len(text):
                    yield text, self._derivation.transformations.apply(text, seed)


def _count(counts: Counter[tuple[str, str]], original: Text, derived: DerivedText) -> None:
    """Count which words with a letter became which."""
    pairs = WordPairs.of([TextPairs(original, derived.text, derived.links)])
    lexicon = Lexicon.count(pairs, derived.links).words()
    for entry in range(len(lexicon)):
        source, target, count = lexicon[entry]
        counts[source, target] += int(count)


def content_hash(path: Path) -> str:
    """Return a hash of a file's uncompressed content."""
    digest = blake2b(digest_size=16)
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


# ---- normalization of text whose words and answers have positions, which follow the changed characters ----


def normalized_pairs(pairs: TextPairs, normalize: Normalization) -> TextPairs:
    """Normalize both sides, and the texts of answers."""
    source, target = normalized(pairs.source, normalize), normalized(pairs.target, normalize)
    answers = pairs.answers
    if answers is not None:
        answers = [[normalize.text(answer, pairs.source.language) for answer in row] for row in answers]
    return replace(pairs, source=source, target=target, answers=answers)


def normalized(text: Text, normalize: Normalization) -> Text:
    """Normalize lines; words with tags and answers keep their place in the line.

    Each piece between the boundaries of words and answers is normalized by itself, unless a word would vanish or be
    split by a blank.
    """
    whole = normalize.lines(text.lines, text.language)
    if whole is text.lines:
        return text
    if not text.tags and text.answers is None:
        return replace(text, lines=whole)
    lines, words, answers = list(text.lines), list(text.words), list(text.answers or [])
    for row, old in enumerate(text.lines):
        if old == whole[row]:
            continue
        places = [*words[row].ravel().tolist(), *(answers[row] if answers else ())]
        cuts = sorted({0, len(old), *(place for place in places if place >= 0)})
        pieces = []
        for start, end in pairwise(cuts):
            new = normalize.text(old[start:end], text.language)
            pieces.append(new if len(new.split()) == len(old[start:end].split()) else old[start:end])
        to = dict(zip(cuts, accumulate(map(len, pieces), initial=0), strict=True)) | {-1: -1}
        lines[row] = "".join(pieces)
        words[row] = np.array([to[place] for place in words[row].ravel().tolist()], np.int32).reshape(-1, 2)
        if answers:
            answers[row] = (to[answers[row][0]], to[answers[row][1]])
    flat = np.concatenate(words) if words else text.words.flat
    kept = None if text.answers is None else answers
    return replace(text, lines=lines, words=Ragged.from_lengths(flat, text.words.lengths), answers=kept)


# ---- files to transform, their language and reader, and the folder to write ----


def language_of(files: Sequence[Path], default: str) -> tuple[str, str]:
    """Return the language in file names (`dev.hi.txt`), else the default, and why; raise a DataError for several."""
    found = {}
    for path in files:
        suffixes = [suffix[1:] for suffix in reversed(path.suffixes)]
        if language := next((suffix for suffix in suffixes if scripts_of(suffix)), ""):
            found[language] = path
    if len(found) > 1:
        (one, first), (other, second), *_ = found.items()
        raise DataError(
            f"{first} is in {one!r} and {second} in {other!r}, by their names; derive the files of each language "
            "separately, or set --language"
        )
    for language, path in found.items():
        return language, f"from the name of {path}"
    return default, "the default"


def derived_file(path: Path, reader: str = "") -> DerivedFile:
    """Return a file to write under its own name, with its alignments. reader: empty for the one that fits the file."""
    name = reader or reader_name(must_exist(path))
    settings = {"trees": _has_trees(must_exist(path))} if "trees" in READERS.get(name).model_fields else {}
    source = OriginalFiles(READERS.build({"name": name, **settings}, f"--reader {name}"), (path,))
    sides = (".source", ".target") if name in {"nli", "squad"} else ("",)
    stem = plain_name(path).name
    return DerivedFile(path.name, source, tuple(f"{stem}{side}.alignments" for side in sides))


def reader_name(path: Path) -> str:
    """Return the reader of a file by its suffix; for `.tsv` also by its first line."""
    suffix = plain_name(path).suffix
    if suffix != ".tsv":
        return {".conllu": "conllu", ".json": "squad", ".iob": "iob", ".bio": "iob"}.get(suffix, "lines")
    first = next(filter(str.strip, read_lines(path)), "")
    if re.fullmatch(r".*\S[\t ](O|[BI]-\S+)", first):
        return "iob"
    if {"sentence1", "premise", "sentence_A"} & {*first.split("\t")}:
        return "nli"
    raise DataError(
        f"{path}: neither words with IOB2 tags nor a header of labelled pairs in its first line {first[:60]!r}; "
        "set --reader"
    )


def _has_trees(path: Path) -> bool:
    """Whether the first word of a CoNLL-U file has a head; ranges (`1-2`) and empty nodes (`0.1`) have none."""
    rows = (line.split("\t") for line in read_lines(path) if line[:1].isdigit())
    cells = next((cells for cells in rows if cells[0].isdigit()), [])
    return len(cells) > 6 and cells[6].isdigit()


def check_outputs(files: Iterable[FolderFile]) -> None:
    """Raise a DataError about two files that would be written under one name; it names both."""
    names = {META: "the record of the transformations"}
    for file in files:
        for output in file.outputs:
            kind = "the dictionary" if not isinstance(file, DerivedFile) else str(file.source.paths[0])
            what = kind if output == file.path else f"the alignments of {kind}"
            if output in names:
                raise DataError(f"{what} and {names[output]} would both be written as {output}; derive them separately")
            names[output] = what


def check_folder(into: Path, outputs: Collection[str]) -> None:
    """Reject an output that has other files than an earlier run on the same input wrote."""
    must_be_replaceable(into, META, "folder of a derived language", ["*"])  # as below
    there = {path.name for path in into.iterdir()} if into.is_dir() else set()
    if META in there:
        read_json(into / META, _Written, remedy=f"its {META} is of something else; give a new folder")
    if lost := sorted(there - {*outputs, META}):
        raise DataError(f"{into}: contains {lost[0]}, which would be deleted; give a new folder, or all files at once")
