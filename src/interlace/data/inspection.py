"""Inspection of text before training: encoding of files, statistics of corpora, and findings with examples.

`Inspector` reads each file's bytes, then the rows of its reader. Everything is read in chunks: memory holds a chunk,
eight bytes per line to find duplicates and as many to find shifts, and at the end some 70 bytes per pair for these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from interlace.core.display import escaped
from interlace.core.errors import DataError
from interlace.core.progress import Progress, no_progress
from interlace.data.filters import FILTERS, Chunk, Filter, Keep, characters, sides
from interlace.data.shifts import find_shift
from interlace.readers import Reader, reader_for
from interlace.text import Text, TextPairs
from interlace.text.lines import binary_format, check_length, read_blocks, read_lines
from interlace.text.scripts import UNSPACED, is_unspaced
from interlace.text.word_tokenizers import WordTokenizer
from interlace.text.word_tokenizers.common.characters import CharacterClasses

Level = Literal["error", "warning", "note"]
"""Of a finding. Error: a corpus cannot be built. Warning: should be checked. Note: handled, or too rare to matter."""

Where = Callable[[int], str]  # the number of a row -> its place for people, such as "train.en:12"
Observer = Callable[[Text, Where], None]  # called with every side of every chunk

MAX_EXCERPTS = 3  # kept per finding
_EXCERPT = 80  # characters


@dataclass(frozen=True)
class Excerpt:
    """Text at one place; `where` is `"train.en:12"` or `"line 12"`."""

    where: str
    text: str

    @classmethod
    def of(cls, where: str, *texts: str) -> Excerpt:
        """Return the beginning of the text with control characters escaped; several texts are the sides of a pair."""
        cut = (text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…" for text in texts)
        text = " | ".join(cut)
        return cls(where, "".join(char if char.isprintable() else escaped(char) for char in text))


@dataclass(frozen=True)
class Finding:
    """One kind of problem with a short name: `count` lines or pairs of `total`; about: its meaning and remedy."""

    level: Level
    what: str
    count: int
    total: int
    about: str
    examples: tuple[Excerpt, ...] = ()


@dataclass
class InspectionReport:
    """Facts and findings about one file, or about a corpus and its files; facts of a side are under its language."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a corpus could not be built from this."""
        return any(finding.level == "error" for finding in self.findings)

    def dump(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


@dataclass
class Inspector:
    """Inspects corpora; the bytes of a file in several corpora are read once.

    word_tokenizer: finds the words that are counted. rules: filters with user settings, by name.
    advice: returns what to do about a language with unknown scripts.
    """

    word_tokenizer: WordTokenizer
    rules: Mapping[str, Filter] = field(default_factory=dict)
    progress: Progress = no_progress
    advice: Callable[[str], str] = lambda _: "give --languages"
    _files: dict[Path, InspectionReport] = field(default_factory=dict)

    def inspect(
        self,
        name: str,
        reader: Reader,
        paths: Sequence[Path],
        languages: Sequence[str],
        observer: Observer | None = None,
    ) -> InspectionReport:
        """Return a report on one corpus; errors in the data become findings."""
        plain = [path for path in paths if reader_for(path) == "lines"]
        for path in plain:
            if path not in self._files:
                self._files[path] = inspect_file(path, self.progress)
        files = {path: self._files[path] for path in plain}
        report = InspectionReport(name, {"files": {str(path): file.facts for path, file in files.items()}})
        report.findings = [finding for file in files.values() for finding in file.findings]
        lines = [int(file.facts["lines"]) for file in files.values()]
        parallel = reader.by_line and len(languages) == 2
        half = len(lines) // 2
        for number in range(half) if parallel and not report.failed else ():
            one, other = lines[number], lines[half + number]
            if one != other:
                about = (
                    f"{paths[number].name} has {one} lines and {paths[half + number].name} has {other} lines; "
                    "the sides must correspond"
                )
                report.findings.append(Finding("error", "line counts differ", abs(one - other), max(one, other), about))
                report.findings += _shift_of_files(paths[number], paths[half + number])
        if report.failed:
            return report
        rows = _Rows(languages, self.rules, _places(paths, lines, by_line=reader.by_line, sides=len(languages)))
        chunks = reader.read_chunks(list(paths), list(languages))
        report.findings += self._read(name, rows, chunks, observer, sum(lines[:half] if parallel else lines))
        report.facts.update(rows.facts())
        report.findings += rows.findings(self.word_tokenizer.name, self.advice)
        report.findings += rows.shift()
        return report

    def _read(
        self, name: str, rows: _Rows, chunks: Iterator[Chunk], observer: Observer | None, total: int
    ) -> Iterator[Finding]:
        """Add all chunks to `rows`; yield an error of the reader."""
        try:
            for chunk in chunks:
                split = []
                for text in sides(chunk):
                    if text.word_tokenizer == self.word_tokenizer.name:
                        split.append(text)
                    else:
                        words = self.word_tokenizer.of(text.language).split(text.lines)
                        split.append(Text(text.language, text.lines, words, self.word_tokenizer.name, notes=text.notes))
                if observer is not None:
                    for text in split:
                        observer(text, rows.place(rows.count))
                rows.add(TextPairs(split[0], split[1], notes=chunk.notes) if len(split) == 2 else split[0])
                self.progress(name, rows.count, total)
        except DataError as error:
            yield Finding("error", "unreadable", 1, 1, str(error))
        else:
            if not any(side.words for side in rows.sides):
                yield Finding("error", "no words", rows.count, rows.count, "nothing is left to train on")


def inspect_file(path: Path | str, progress: Progress = no_progress) -> InspectionReport:
    """Return the facts `lines` and `bytes` (uncompressed), and findings about encoding and line ends; never raise."""
    path = Path(path)
    seen = _Bytes()
    report = InspectionReport(str(path))
    try:
        for lines in _whole_lines(path, seen):
            seen.add(lines, path.name)
            progress(f"bytes of {path.name}", seen.size, 0)
    except DataError as error:
        report.findings.append(Finding("error", "unreadable", 1, 1, str(error)))
    if not seen.size and not report.findings:
        report.findings.append(Finding("error", "empty file", 1, 1, f"{path} is empty"))
    report.facts = {"lines": seen.lines, "bytes": seen.size}
    report.findings += seen.findings(path.name)
    return report


def is_untokenized(text: Text, rows: int = 500) -> bool:
    """Whether punctuation is attached to words, or whole clauses have no space, in the first rows."""
    side = _Side("")
    side.add(text, str)
    words = [word for row in range(min(len(text), rows)) for word in text.tokens(row)]
    unspaced = [len(word) for word in words if is_unspaced(word[0])]
    # more letters between two spaces in an unspaced script are not a word
    clauses = len(unspaced) * 5 > len(words) and sum(unspaced) > 8 * len(unspaced)
    return side.tokenization == "untokenized" or clauses


AUTO = "auto"  # word tokenizer: `unicode` for untokenized text, else `whitespace`


def reader_of_words(kind: Any, paths: Sequence[Path], languages: Sequence[str], name: str, where: str) -> Any:
    """Return a reader of a kind with a word tokenizer; `auto` as its name is chosen by the first rows of the files.

    where: section named in errors.
    """
    finds_words = "word_tokenizer" in kind.model_fields
    if name == AUTO and finds_words:
        first = next(kind().read_chunks(paths, list(languages)), None)
        name = "whitespace" if first is None else word_tokenizer_for(*sides(first))
    given = finds_words or name not in {AUTO, "whitespace"}  # other readers report the unknown key
    return kind.read({"word_tokenizer": name} if given else {}, where)


def word_tokenizer_for(*texts: Text) -> str:
    """Return the word tokenizer that `auto` means for the sides of a text, which are split at white space."""
    return "unicode" if any(map(is_untokenized, texts)) else "whitespace"


class _Excerpts:
    """The first few of many places, and their count."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Excerpt] = []

    def add(self, count: int, some: Iterator[Excerpt]) -> None:
        """Count `count` more; keep excerpts up to the limit."""
        self.count += count
        self.kept += islice(some, MAX_EXCERPTS - len(self.kept))


@dataclass
class _Bytes:
    """Counts over the bytes of a file. carriage_returns: before a line feed; stray_returns: others."""

    lines: int = 0
    size: int = 0
    carriage_returns: int = 0
    stray_returns: int = 0
    bad: _Excerpts = field(default_factory=_Excerpts)
    start: bytes = b""

    def add(self, data: bytes, name: str) -> None:
        self.start = self.start or data[:1024]
        if not _is_utf8(data):
            lines = enumerate(data.split(b"\n"), self.lines + 1)
            bad = [(number, line) for number, line in lines if not _is_utf8(line)]
            self.bad.add(len(bad), (Excerpt.of(f"{name}:{number}", line.decode("latin-1")) for number, line in bad))
        returns = data.count(b"\r\n")
        self.carriage_returns += returns
        self.stray_returns += data.count(b"\r") - returns
        self.size += len(data)
        self.lines += data.count(b"\n") + (not data.endswith(b"\n"))

    def findings(self, name: str) -> Iterator[Finding]:
        if kind := binary_format(self.start):
            yield Finding("error", "no text", 1, 1, f"{name} seems to be {kind}")
        elif self.bad.count:
            about = "not UTF-8, shown as Latin-1; if that is readable: iconv -f LATIN1 -t UTF-8"
            yield Finding("error", "bad UTF-8", self.bad.count, self.lines, about, tuple(self.bad.kept))
        if self.start.startswith(b"\xef\xbb\xbf"):
            yield Finding("note", "byte order mark", 1, self.lines, f"at the start of {name}; it is removed")
        if self.carriage_returns:
            about = f"in {name}; carriage returns are removed"
            yield Finding("note", "CRLF line ends", self.carriage_returns, self.lines, about)
        if self.stray_returns:
            about = f"carriage returns inside lines of {name}; if they should end lines: tr '\\r' '\\n'"
            yield Finding("warning", "stray carriage returns", self.stray_returns, self.lines, about)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _whole_lines(path: Path, seen: _Bytes) -> Iterator[bytes]:
    """Yield the file in pieces that end at line ends; the last one may have no line feed. `seen` counts them."""
    parts: list[bytes] = []
    for block in read_blocks(path):
        head, feed, tail = block.rpartition(b"\n")
        if feed:
            yield b"".join([*parts, head, feed])
            parts = []
        parts.append(tail)
        check_length(sum(map(len, parts)), f"{path}, line {seen.lines + 1}")
    if rest := b"".join(parts):
        yield rest


_FILTER_FINDINGS = {
    "control": "control characters or broken letters (U+FFFD)",
    "duplicates": "exact repetitions",
    "empty": "no word on a side; a corpus skips them",
    "identical": "both sides equal: untranslated?",
    "length": "very long or short",
    "ratio": "one side much longer than the other: not a translation, or truncated?",
    "script": "few letters in the script of the language: the wrong language?",
    "separator": "contains |||, the column separator of phrase tables and external aligners",
}


class _Rows:
    """Statistics of one corpus, chunk by chunk.

    rules: filters with user settings, by name; all others of the registry are tried with their defaults.
    where: returns the place of a row, counted from 0.
    """

    def __init__(self, languages: Sequence[str], rules: Mapping[str, Filter], where: Where) -> None:
        self.count = 0
        self.sides = [_Side(language) for language in languages]
        self._where = where
        self._own = rules
        self._empty = FILTERS.build("empty")
        self._rules: list[tuple[Filter, Keep, _Excerpts]] = []  # chosen at the first chunk
        self._notes: Counter[str] = Counter()
        self._lengths: list[list[NDArray[np.int64]]] = []  # by chunk and side, in characters

    def place(self, first: int) -> Where:
        """Return the places of rows counted from `first`."""
        return lambda row: self._where(first + row)

    def add(self, chunk: Chunk) -> None:
        """Add the rows of a chunk; every rule is applied separately, and only the rule `empty` sees empty rows."""
        if not self._rules:
            self._rules = [(rule, rule.start(), _Excerpts()) for rule in self._choose(chunk)]
        place, texts = self.place(self.count), sides(chunk)
        for side, text in zip(self.sides, texts, strict=False):
            side.add(text, place)
        if len(texts) == 2:
            self._lengths.append([characters(text) for text in texts])
        full = self._empty.keep(chunk)
        rest = chunk.where(full)
        for rule, keep, seen in self._rules:
            all_rows = rule.name == "empty"
            dropped = np.flatnonzero(~keep(chunk if all_rows else rest))
            rows = (dropped if all_rows else np.flatnonzero(full)[dropped]).tolist()
            seen.add(len(rows), (Excerpt.of(place(row), *(text.lines[row] for text in texts)) for row in rows))
        self._notes.update(chunk.notes)
        self.count += len(chunk)

    def shift(self) -> Iterator[Finding]:
        """Yield a finding if the sides of pairs are shifted."""
        if self._lengths:
            source, target = map(np.concatenate, zip(*self._lengths, strict=True))
            yield from _shift_findings(source, target, self._where)

    def facts(self) -> dict[str, Any]:
        """Return `rows`, and by language words, characters and quantiles."""
        return {"rows": self.count, "sides": {side.language: side.facts() for side in self.sides}}

    def findings(self, word_tokenizer: str, advice: Callable[[str], str]) -> Iterator[Finding]:
        for rule, _, seen in self._rules:
            if seen.count:
                level = "note" if rule.name == "empty" else _level(seen.count, self.count)
                settings = ", ".join(
                    f"{key} = {value!r}" for key, value in rule.dump().items() if value not in ({}, False)
                )
                keys = f"filters.{rule.name}: {settings}" if settings else f"filters.{rule.name}"
                about = f"{_FILTER_FINDINGS.get(rule.name, 'dropped by this filter')} ({keys})"
                yield Finding(level, rule.name, seen.count, self.count, about, tuple(seen.kept))
        for side in self.sides:
            yield from side.findings(word_tokenizer)
        if {side.tokenization for side in self.sides} == {"tokenized", "untokenized"}:
            about = "; ".join(f"{side.language}: {side.tokenization}" for side in self.sides)
            yield Finding("warning", "tokenized on one side", self.count, self.count, about)
        script: Any = self._own.get("script") or FILTERS.build("script")
        for language in (side.language for side in self.sides):
            scripts = script.scripts(language)
            if not scripts:
                about = f"the scripts of {language!r} are not known; {advice(language)}"
                yield Finding("note", "script not checked", self.count, self.count, about)
            elif word_tokenizer == "whitespace" and scripts & UNSPACED:
                about = f"{language} is written without spaces; set word_tokenizer = 'by_language' or 'unicode'"
                yield Finding("warning", "words not split", self.count, self.count, about)
        for what, count in self._notes.items():
            if count:
                yield Finding("note", "repaired or skipped by the reader", count, self.count, what)

    def _choose(self, chunk: Chunk) -> Iterator[Filter]:
        """Yield the given rules and all others of the registry that apply to these languages."""
        ratio: Any = FILTERS.build("ratio")
        if isinstance(chunk, TextPairs):  # relative to the whole chunk, because words per sentence depend on language
            source, target = (int(ratio.lengths(side).sum()) for side in sides(chunk))
            typical = round(max(target, 1) / max(source, 1), 2) or 0.01
            ratio = FILTERS.build({"name": "ratio", "typical": typical})
        length = FILTERS.build({"name": "length", "min_words": 0, "min_characters": 0})  # `empty` is a rule of its own
        for name in sorted(FILTERS.own_names() | set(self._own)):
            rule: Any = self._own.get(name) or {"length": length, "ratio": ratio}.get(name) or FILTERS.build(name)
            known = name != "script" or all(rule.scripts(side.language) for side in self.sides)
            if known and not (name in {"identical", "ratio"} and len(self.sides) == 1):
                yield rule


def _shift_of_files(source: Path, target: Path) -> Iterator[Finding]:
    """Yield a finding if two files are shifted; one that cannot be read has a finding already."""
    with suppress(DataError):
        lengths = [np.fromiter(map(len, read_lines(path)), np.int64) for path in (source, target)]
        yield from _shift_findings(lengths[0], lengths[1], lambda row: f"{source.name}:{row + 1}")


def _shift_findings(source: NDArray[np.int64], target: NDArray[np.int64], where: Where) -> Iterator[Finding]:
    """Yield a finding if the sides are shifted, by the characters of their lines."""
    if shift := find_shift(source, target):
        lines = f"{abs(shift.offset)} line{'s' * (abs(shift.offset) > 1)}"
        further = f"{lines} {'below' if shift.offset > 0 else 'above'}"
        about = (
            f"from about {where(shift.first)} to {where(shift.end - 1)} the sources fit the targets {further}; "
            "is a line lost, or split in two, on one side?"
        )
        yield Finding("warning", "shifted sides", shift.end - shift.first, len(source), about)


def _places(paths: Sequence[Path], lines: Sequence[int], *, by_line: bool, sides: int) -> Where:
    """Return places `"train.en:12"` for consecutive files, `"line 12"` for parallel ones, otherwise `"row 12"`."""
    if not by_line or sides > 1:
        unit = "line" if by_line else "row"
        return lambda row: f"{unit} {row + 1}"
    starts = np.concatenate([[0], np.cumsum(lines)])

    def where(row: int) -> str:
        file = min(int(np.searchsorted(starts, row, side="right")) - 1, len(paths) - 1)
        return f"{paths[file].name}:{row - int(starts[file]) + 1}"

    return where


_MAX_WORDS = 2000  # longer lines are counted as this long
_MIN_MARKS = 20  # punctuation marks needed for a guess
_TRACES = {  # strings that every such line contains, which are fast to search; the pattern; the remedy
    "subword marks": (
        ("@@ ", "\u2581"),
        re.compile(r"\w@@ |(?:^| )\u2581\w"),
        "text is split into subwords, but vocabularies need plain text: undo it, as with sed 's/@@ //g'",
    ),
    "escaped characters": (
        ("&",),
        re.compile(r"&(?:amp|apos|quot|lt|gt|#\d+|#x[0-9a-f]+);"),
        "such as &apos;, from HTML or the Moses tokenizer; they are read literally: unescape them",
    ),
    "double encoding": (
        ("Ã", "Â", "â€"),
        re.compile("[ÃÂ][\u0080-\u00bf]|â€"),
        "UTF-8 that was decoded as Latin-1 and encoded again, such as 'Ã©' for 'é'",
    ),
}
_OTHER, _BLANK, _MARK, _LETTER = 1, 2, 3, 4


def _class_of(character: str) -> int:
    if character.isspace():
        return _BLANK
    if character in ".,!?;:。，！？；：।؟،":
        return _MARK
    return _LETTER if character.isalnum() else _OTHER


_CLASSES = CharacterClasses(_class_of)


class _Side:
    """Statistics of one side: lengths, spaces before punctuation, and marks that tools leave."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.words = self._lines = self._characters = self._max_words = 0
        self._histogram = np.zeros(_MAX_WORDS + 1, np.int64)
        self._apart = self._attached = 0  # punctuation marks with and without a space before
        self._traces = {what: _Excerpts() for what in _TRACES}

    def add(self, text: Text, where: Where) -> None:
        words = text.words.lengths
        self._lines += len(text)
        self.words += int(words.sum())
        self._characters += int(characters(text).sum())
        self._max_words = max(self._max_words, int(words.max(initial=0)))
        self._histogram += np.bincount(np.minimum(words, _MAX_WORDS), minlength=_MAX_WORDS + 1)
        found = _CLASSES.of_lines(text.lines)
        before, mark, after = found[:-2], found[1:-1], found[2:]
        ends = (mark == _MARK) & (after == _BLANK)
        self._apart += int(np.count_nonzero(ends & (before == _BLANK)))
        self._attached += int(np.count_nonzero(ends & (before == _LETTER)))
        whole = "\n".join(text.lines)
        for what, (strings, pattern, _) in _TRACES.items():
            if any(string in whole for string in strings):
                rows = [(row, line) for row, line in enumerate(text.lines) if pattern.search(line)]
                self._traces[what].add(len(rows), (Excerpt.of(where(row), line) for row, line in rows))

    @property
    def tokenization(self) -> str:
        """`"tokenized"`, `"untokenized"`, `"mixed"`, or `"?"` with too little punctuation."""
        total = self._apart + self._attached
        if total < _MIN_MARKS:
            return "?"
        share = self._apart / total
        return "tokenized" if share > 0.9 else "untokenized" if share < 0.1 else "mixed"

    def facts(self) -> dict[str, Any]:
        below = np.cumsum(self._histogram)
        quantiles = {f"p{share}": int(np.searchsorted(below, share / 100 * below[-1])) for share in (50, 99)}
        counts = {"words": self.words, "characters": self._characters, **quantiles, "max_words": self._max_words}
        return {**counts, "tokenization": self.tokenization}

    def findings(self, word_tokenizer: str) -> Iterator[Finding]:
        if word_tokenizer == "whitespace" and self.tokenization == "untokenized":
            about = f"{self.language}: 'home.' and 'home' are two words; 'unicode' or 'by_language' splits them"
            yield Finding("note", "punctuation on words", self._attached, self._apart + self._attached, about)
        if self.tokenization == "mixed":
            about = f"{self.language}: some punctuation has a space before it; is tokenized and plain text mixed?"
            yield Finding("warning", "partly tokenized", self._apart, self._apart + self._attached, about)
        for what, seen in self._traces.items():
            if seen.count:
                about = f"{self.language}: {_TRACES[what][2]}"
                yield Finding(_level(seen.count, self._lines), what, seen.count, self._lines, about, tuple(seen.kept))


def _level(count: int, total: int) -> Level:
    """Return a warning, or a note for less than one in a thousand."""
    return "warning" if count * 1000 >= total else "note"
