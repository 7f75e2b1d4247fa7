"""The contract of readers, for every entry of the registry. A reader without an example here fails."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from interlace.core.errors import DataError
from interlace.readers import READERS
from interlace.text import Text, TextPairs
from interlace.text.lines import COMPRESSED, _opened_for_writing


@dataclass(frozen=True)
class Example:
    """Two files' worth of three lines each; `head` precedes and `tail` follows them where the format wants that."""

    rows: tuple[str, str, str]
    languages: tuple[str, ...] = ("en",)
    head: str = ""
    tail: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    invalid: str = "not valid UTF-8"  # the error about a byte that is none

    def text(self, rows=None):
        """The file's content."""
        return self.head + "".join(self.rows if rows is None else rows) + self.tail


def _conllu(word):
    return f"# text = {word} it\n1\t{word}\t_\tVERB\t_\t_\t_\t_\t_\t_\n2\tit\t_\tPRON\t_\t_\t_\t_\t_\t_\n\n"


def _aligned(word):
    return f'{{"src_words": ["{word}", "a"], "tgt_words": ["b"], "alignment": [[0, 0]]}}\n'


def _asked(passage, end=",\n"):
    return f'{{"context": "{passage} it", "qas": [{{"question": "what?", "id": "1", "answers": []}}]}}{end}'


def _unit(source, target):
    return f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de-AT"><seg>{target}</seg></tuv></tu>\n'


EXAMPLES = {
    "lines": [
        Example(("one é\n", "two\n", "three\n")),
        Example(("one é\n", "two\n", "three\n"), languages=("en", "de")),
    ],
    "tsv": [
        Example(("one é\teins\n", "two\tzwei\n", "\tdrei\n"), head="en\tde\n"),
        Example(
            ("one é\teins\n", "two\tzwei\n", "\tdrei\n"),
            languages=("en", "de"),
            head="en\tde\n",
        ),
    ],
    "joined": [
        Example(("one é ||| eins\n", "two|||zwei\n", "three\t|||\n"), languages=("en", "de"))
    ],
    "gold": [
        Example((_aligned("é"), _aligned("two"), _aligned("three")), languages=("en", "de"))
    ],
    "nli": [
        Example(
            ("en\tneutral\ta é\tb\n", "en\tentailment\tc\td\n", "en\tcontradiction\te\tf\n"),
            head="language\tgold_label\tsentence1\tsentence2\n",
        )
    ],
    "iob": [Example(("Anna\tB-PER\nreads é\tO\n\n", "He\tO\n\n", "Ankara\tB-LOC\n\n"))],
    "squad": [
        Example(
            (_asked("é"), _asked("two"), _asked("three", "\n")),
            languages=languages,
            head='{"data": [{"paragraphs": [\n',
            tail="]}]}\n",
        )
        for languages in (("en",), ("en", "de"))
    ],
    "dataset": [
        Example(
            (
                '{"tokens": ["é", "reads"], "ner_tags": ["B-PER", "O"]}\n',
                '{"tokens": ["two"], "ner_tags": ["O"]}\n',
                '{"tokens": ["three"], "ner_tags": ["O"]}\n',
            )
        ),
        Example(
            (
                '{"en": "one é", "de": "eins"}\n',
                '{"en": "two", "de": "zwei"}\n',
                '{"en": "", "de": "drei"}\n',
            ),
            languages=("en", "de"),
        ),
    ],
    "tmx": [
        Example(
            (_unit("one é", "eins"), _unit("two", "zwei"), _unit("", "drei")),
            languages=languages,
            head="<tmx><body>\n",
            tail="</body></tmx>\n",
            invalid="invalid XML",
        )
        for languages in (("en",), ("en", "de"))
    ],
    "conllu": [Example((_conllu("réad"), _conllu("take"), _conllu("see")))],
}
NAMES = READERS.names()
CASES = [(name, number) for name in NAMES for number in range(len(EXAMPLES.get(name, [])))]
cases = pytest.mark.parametrize(("name", "number"), CASES)


def _read(reader, paths, languages):
    return list(reader.read_chunks(list(paths), list(languages)))


def _plain(chunks):
    """All that a person sees of chunks, whatever their sizes."""
    rows = []
    for chunk in chunks:
        sides = [chunk.source, chunk.target] if isinstance(chunk, TextPairs) else [chunk]
        for row in range(len(chunk)):
            parts = [
                (side.language, side.word_tokenizer, side.lines[row], side.tokens(row))
                for side in sides
            ]
            tags = [{kind: tags[row] for kind, tags in side.tags.items()} for side in sides]
            labels = [
                thing.labels[row] for thing in [chunk, *sides] if thing.labels is not None
            ]
            rows.append((parts, tags, labels))
    return rows


@pytest.fixture
def opened(name, number, tmp_path):
    """The example, its reader, and its files on disk (one for each language where the format wants that)."""
    example = EXAMPLES[name][number]
    count = 2 if name == "lines" and len(example.languages) == 2 else 1
    paths = [tmp_path / f"file{place}.txt" for place in range(count)]
    for path in paths:
        path.write_text(example.text(), encoding="utf-8")
    return example, READERS.build({"name": name, **example.settings}), paths


@pytest.mark.parametrize("name", NAMES)
def test_every_reader_has_an_example(name):
    assert EXAMPLES.get(name), f"add an example of {name!r} to this suite"


@cases
def test_columns_fit_the_lines(opened):
    example, reader, paths = opened
    (chunk,) = _read(reader, paths, example.languages)
    assert len(chunk) == 3
    assert isinstance(chunk, Text | TextPairs)
    if isinstance(chunk, TextPairs) and len(example.languages) == 2:
        assert (chunk.source.language, chunk.target.language) == example.languages
    for side in [chunk.source, chunk.target] if isinstance(chunk, TextPairs) else [chunk]:
        assert len(side.lines) == len(side.words) == 3
        assert side.language in example.languages
        for tags in side.tags.values():
            assert [len(row) for row in tags] == side.words.lengths.tolist()
        for line, spans in zip(side.lines, side.words, strict=True):
            before = 0
            for start, end in spans.tolist():
                assert before <= start < end <= len(line)
                assert line[start:end].strip() == line[start:end]
                before = end
    assert chunk.labels is None or len(chunk.labels) == 3


@cases
def test_result_does_not_depend_on_chunks(opened, monkeypatch):
    example, reader, paths = opened
    whole = _read(reader, paths, example.languages)
    monkeypatch.setattr("interlace.readers.CHUNK", 2)
    parts = _read(reader, paths, example.languages)
    assert [len(part) for part in parts] == [2, 1]
    assert _plain(parts) == _plain(whole)


@cases
def test_reads_compressed_files_and_windows_line_ends(opened):
    example, reader, paths = opened
    plain = _plain(_read(reader, paths, example.languages))
    for suffix in COMPRESSED:
        packed = [path.with_suffix(suffix) for path in paths]
        for path in packed:
            with _opened_for_writing(path) as file:
                file.write(b"\xef\xbb\xbf" + example.text().replace("\n", "\r\n").encode())
        assert _plain(_read(reader, packed, example.languages)) == plain
        packed[-1].write_bytes(packed[-1].read_bytes()[:-9])
        with pytest.raises(
            DataError, match=f"{packed[-1].name}: damaged {COMPRESSED[suffix]} file"
        ):
            _read(reader, packed, example.languages)


@cases
def test_names_missing_empty_and_invalid_files(opened):
    example, reader, paths = opened
    missing = [*paths[:-1], paths[-1].with_suffix(".tx")]
    with pytest.raises(DataError, match=r"\.tx: no such file; did you mean"):
        _read(reader, missing, example.languages)
    paths[-1].write_bytes(b"")
    with pytest.raises(DataError, match=rf"{paths[-1].name}: the file is empty"):
        _read(reader, paths, example.languages)
    before, letter, after = example.text().encode().partition("é".encode())
    paths[-1].write_bytes(before + b"\xff" + letter + after)
    line = before.count(b"\n") + 1
    with pytest.raises(DataError, match=rf"{paths[-1].name}, line {line}: {example.invalid}"):
        _read(reader, paths, example.languages)


@cases
def test_rejects_other_numbers_of_languages(opened):
    _, reader, paths = opened
    with pytest.raises(DataError, match="found"):
        _read(reader, paths, ["en", "de", "fr"])
    with pytest.raises(DataError, match="found"):
        _read(reader, [], ["en"])
