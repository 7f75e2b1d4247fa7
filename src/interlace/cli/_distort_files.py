"""Files of a derived language: read in chunks, changed, and written in the format they had, with links and counts."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.errors import DataError, SettingsError
from interlace.derived import composed
from interlace.derived._layout import spaced
from interlace.derived._whole import whole
from interlace.experiments._deriving_formats import write_as
from interlace.experiments._deriving_text import overlaps
from interlace.experiments._deriving_words import Became
from interlace.readers import READERS
from interlace.text import Text, TextPairs
from interlace.text.lines import must_exist, read_blocks, read_lines, writing
from interlace.text.scripts import scripts_of
from interlace.text.words import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.core.ragged import Ragged
    from interlace.derived import Chain
    from interlace.readers import Reader

_BY_SUFFIX = {".conllu": "conllu", ".json": "squad", ".iob": "iob", ".bio": "iob"}
_TAG = re.compile(r".*\S[\t ](O|[BI]-\S+)")
_OF_PAIRS = {"nli", "squad"}
_HEAD = 6  # column of CoNLL-U


def language_in(path: Path) -> str:
    """`"hi"` of `dev.hi.txt` or `dev.hi.conllu.gz`; empty where no part of the name is a language that is known.

    A name that ends in one (`train.en`) is plain text.
    """
    suffixes = [suffix[1:] for suffix in reversed(path.suffixes)]
    return next((suffix for suffix in suffixes if scripts_of(suffix)), "")


def reader_name(path: Path) -> str:
    """The reader of a file by its suffix; what ends in `.tsv` is looked at.

    Raises:
        DataError: a table that is neither of words with tags nor of labelled pairs, or the file cannot be read.
    """
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix != ".tsv":
        return _BY_SUFFIX.get(suffix, "lines")
    first = next(line for line in (*read_lines(path), "") if line.strip() or not line)
    if _TAG.fullmatch(first):
        return "iob"
    if {"sentence1", "premise", "sentence_A"} & {*first.split("\t")}:
        return "nli"
    raise DataError(
        f"{path}: neither words with IOB2 tags nor a header of labelled pairs in its first line {first[:60]!r}; "
        "name what reads it by --reader"
    )


@dataclass
class Distorter:
    """Changes files one after another, and counts what became of each word.

    language: of all files.
    """

    change: Chain
    seed: int
    language: str
    reader: str
    word_tokenizer: str
    blanks: bool
    became: Became = field(default_factory=Became)

    def outputs(self, path: Path) -> list[str]:
        """The names under which a file and its links are written.

        Raises:
            DataError: the file cannot be read, or nothing says what reads it.
        """
        stem = path.name.removesuffix(".gz")
        return [path.name, *(f"{stem}{side}.links" for side in self._sides(path))]

    def _sides(self, path: Path) -> list[str]:
        """Of which there are links: one for sentences, two for pairs."""
        return [".source", ".target"] if self._reader(path) in _OF_PAIRS else [""]

    def _reader(self, path: Path) -> str:
        return self.reader or reader_name(must_exist(path))

    def write(self, path: Path, into: Path) -> dict[str, Any]:
        """One file and its links; returns what was done, for people and `meta.json`.

        Raises:
            DataError: the file cannot be read, or lacks what a change needs.
            SettingsError: there is no such reader, or nothing is written in its format.
        """
        name, reader = self.reading(path)
        about: dict[str, Any] = {"file": path.name, "reader": name, "lines": 0, "words": 0, "notes": Counter()}
        chunks = reader.read_chunks([path], [self.language])
        with _all_open([into / name for name in self.outputs(path)[1:]]) as writers:
            write_as(reader, into / path.name, self._changed(chunks, about, writers))
        if not about["lines"]:
            raise DataError(f"{path}: there is nothing in it to change")
        about["notes"] = {what: count for what, count in about["notes"].items() if count}
        return about | {"read": fingerprint(path), "written": fingerprint(into / path.name)}

    def reading(self, path: Path) -> tuple[str, Reader]:
        """What reads a file, and its name.

        Raises:
            DataError: the file is not there, or nothing says what reads it. SettingsError: there is no such reader.
        """
        name = self._reader(must_exist(path))
        fields = READERS.get(name).model_fields
        chosen = {"word_tokenizer": self.word_tokenizer, "trees": "trees" in fields and _has_trees(path)}
        settings = {key: value for key, value in chosen.items() if key in fields}
        return name, READERS.build({"name": name, **settings}, f"--reader {name}")

    def _changed(self, chunks: Iterator[Any], about: dict[str, Any], writers: list[Any]) -> Iterator[Any]:
        for chunk in chunks:
            if isinstance(chunk, TextPairs):
                yield self._pairs(chunk, about, writers)
            else:
                text = self._laid_out(chunk)
                derived = self.change.apply(text, self.seed)
                self._count(text, derived.text, derived.links, about)
                writers[0](pharaoh_lines(self._as_read(chunk, derived.text, derived.links)))
                about["notes"].update(derived.text.notes)
                yield derived.text

    def _pairs(self, read: TextPairs, about: dict[str, Any], writers: list[Any]) -> TextPairs:
        pairs = self._laid_out_pairs(read)
        derived = self.change.apply_pairs(pairs, self.seed)
        sides = (
            (read.source, pairs.source, derived.pairs.source, derived.source),
            (read.target, pairs.target, derived.pairs.target, derived.target),
        )
        for (found, old, new, links), write in zip(sides, writers, strict=True):
            self._count(old, new, links, about)
            write(pharaoh_lines(self._as_read(found, new, links)))
            about["notes"].update(new.notes)
        about["notes"].update(derived.pairs.notes)
        about["lines"] -= len(pairs)  # a pair is one
        return derived.pairs

    def _as_read(self, read: Text, text: Text, links: Ragged) -> Ragged:
        """Links from the words of the lines that were read to those that will be found where they are read again.

        Splitters that look at more than the two words at a border find others where words have come together newly.
        """
        if text.tags:  # the file tells its words
            return links
        if self.blanks:  # words are what stands between them
            return composed(overlaps(read.words, whole(read).words), links)
        again = WORD_TOKENIZERS.build(self.word_tokenizer).of(self.language).split(text.lines)
        return links if again == text.words else composed(links, overlaps(text.words, again))

    def _laid_out(self, text: Text) -> Text:
        return spaced(whole(text)) if self.blanks else text

    def _laid_out_pairs(self, pairs: TextPairs) -> TextPairs:
        if not self.blanks:
            return pairs
        if pairs.answers is not None:
            raise SettingsError("--blanks: the answers of questions are written as they stand; leave it out for them")
        return replace(pairs, source=self._laid_out(pairs.source), target=self._laid_out(pairs.target))

    def _count(self, old: Text, new: Text, links: Ragged, about: dict[str, Any]) -> None:
        self.became.add(old, new, links)
        about["lines"] += len(old)
        about["words"] += len(old.words.flat)


def _has_trees(path: Path) -> bool:
    """Whether the first word of a CoNLL-U file has a head; ranges (`1-2`) and words left out (`0.1`) have none."""
    rows = (line.split("\t") for line in read_lines(path) if line[:1].isdigit())
    cells = next((cells for cells in rows if cells[0].isdigit()), [])
    return len(cells) > _HEAD and cells[_HEAD].isdigit()


@contextmanager
def _all_open(paths: list[Path]) -> Iterator[list[Any]]:
    """Writers of lines, one for each of these files."""
    with ExitStack() as stack:
        yield [stack.enter_context(writing(path)) for path in paths]


def fingerprint(path: Path) -> str:
    """A hash of what is in a file, unpacked."""
    digest = blake2b(digest_size=16)
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()
