"""A corpus and its files: bytes first, then lines or pairs as its reader gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.data.filters._sides import sides
from interlace.data.inspection import Finding, Report, Watch, no_progress
from interlace.data.inspection.files import look_at_file
from interlace.data.inspection.rows import Rows, places
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from interlace.data.filters import Filter
    from interlace.readers import Reader
    from interlace.text.words import WordTokenizer

Also = Callable[[Text, Callable[[int], str]], None]
"""Shown every side of every chunk, with what names its rows."""


def _ask(_language: str) -> str:
    return "give --languages"


def _nothing(_text: Text, _where: Callable[[int], str]) -> None:
    pass


@dataclass
class Inspector:
    """Looks at corpora one after another; the bytes of a file that stands in several are read once.

    word_tokenizer: what finds the words that are counted. rules: filters with settings of one's own, by name. unknown: what
    to tell of a language whose scripts nobody knows.
    """

    word_tokenizer: WordTokenizer
    rules: Mapping[str, Filter] = field(default_factory=dict)
    watch: Watch = no_progress
    unknown: Callable[[str], str] = _ask
    _files: dict[Path, Report] = field(default_factory=dict)

    def look(
        self, name: str, reader: Reader, paths: Sequence[Path], languages: Sequence[str], also: Also = _nothing
    ) -> Report:
        """All that is to be said about one corpus; what is wrong with the data becomes a finding and no exception."""
        files = [self._file(path) for path in paths]
        report = Report(name, {"files": {str(path): seen.facts for path, seen in zip(paths, files, strict=True)}})
        report.findings = [finding for path in dict.fromkeys(paths) for finding in self._file(path).findings]
        by_line = reader.by_line
        if by_line and len(languages) == len(paths) == 2:
            report.findings += _uneven(paths, files)
        if not report.failed:
            lines = [int(seen.facts["lines"]) for seen in files]
            where = places(paths, lines, by_line=by_line, sides=len(languages))
            rows = Rows(languages, self.rules, where, self.unknown)
            expected = lines[0] if by_line and len(languages) == 2 else sum(lines)
            report.findings += self._read(rows, reader, (paths, languages), also, partial(self._tell, name, expected))
            report.facts.update(rows.facts())
            report.findings += rows.findings(self.word_tokenizer.name)
        return report

    def _read(
        self,
        rows: Rows,
        reader: Reader,
        what: tuple[Sequence[Path], Sequence[str]],
        also: Also,
        tell: Callable[[int], None],
    ) -> Iterator[Finding]:
        """Show all chunks to `rows`; yields what stopped it."""
        try:
            for chunk in reader.read_chunks(list(what[0]), list(what[1])):
                split = [self._split(text) for text in sides(chunk)]
                for text in split:
                    also(text, partial(_later, rows.where, rows.count))
                rows.add(TextPairs(split[0], split[1], notes=chunk.notes) if len(split) == 2 else split[0])
                tell(rows.count)
        except DataError as error:
            yield Finding("error", "unreadable", 1, 1, str(error))
        else:
            if not rows.words:
                yield Finding("error", "no words", rows.count, rows.count, "nothing is left to train on")

    def _file(self, path: Path) -> Report:
        if path not in self._files:
            self._files[path] = look_at_file(path, self.watch)
        return self._files[path]

    def _tell(self, name: str, expected: int, done: int) -> None:
        self.watch(name, done, expected)

    def _split(self, text: Text) -> Text:
        if text.word_tokenizer == self.word_tokenizer.name:
            return text
        words = self.word_tokenizer.of(text.language).split(text.lines)
        return Text(text.language, text.lines, words, self.word_tokenizer.name, notes=text.notes)


def _uneven(paths: Sequence[Path], files: Sequence[Report]) -> Iterator[Finding]:
    lines = [int(seen.facts["lines"]) for seen in files]
    if lines[0] != lines[1] and not any(seen.failed for seen in files):
        counts = " and ".join(f"{path.name} has {count} lines" for path, count in zip(paths, lines, strict=True))
        about = f"{counts}; the sides must correspond"
        yield Finding("error", "line counts differ", abs(lines[0] - lines[1]), max(lines), about)


def _later(where: Callable[[int], str], first: int, row: int) -> str:
    return where(first + row)
