"""Tokens with IOB2 tags, one per line, an empty line between sentences (CoNLL 2003, WikiANN, MasakhaNER)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from sys import intern

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common import text as common
from interlace.text import Text


class Iob(Reader):
    """Named entities: the token in the first column, the tag in the last one.

    Columns are separated by tabs, or by spaces in lines without a tab.

    An `I-` that does not continue an entity of its type becomes a `B-` and is counted.
    """

    language_counts = (1,)

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one file after another; the words are the file's tokens, the tags are in `tags["names"]`."""

        def text_of(chunk: list[common.TaggedLine]) -> Text:
            return common.tagged_text(chunk, languages[0], "names", "iob")

        yield from common.texts_of(self, paths, languages, _sentences, text_of)


def _sentences(path: Path, notes: Counter[str]) -> Iterator[common.TaggedLine]:
    for first_line, rows in common.sentences_of(path):
        tokens: list[str] = []
        tags: list[str] = []
        for number, row in enumerate(rows, first_line):
            if row.startswith("-DOCSTART-"):
                continue
            token, tag = _cells(path, number, row)
            if token:
                tokens.append(token)
                tags.append(tag)
            else:
                notes["tokens of white space left out"] += 1
        if tokens:
            line, spans = common.join_tokens(tokens)
            yield common.TaggedLine(line, spans, common.repaired_iob(tags, notes))


def _cells(path: Path, number: int, line: str) -> tuple[str, str]:
    """Return the token and the tag of a line."""
    cells = line.split("\t") if "\t" in line else line.split(" ")
    tag = cells[-1].strip()
    if len(cells) < 2 or not common.is_iob(tag):
        raise DataError(
            f"{path}, line {number}: {line[:60]!r}; expected a token and a tag O, B-TYPE or I-TYPE (IOB2)"
        )
    return cells[0].strip(), intern(tag)  # one string per tag instead of one per word
