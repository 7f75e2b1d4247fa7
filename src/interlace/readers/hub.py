"""Data sets of the Hugging Face hub by the columns they have, and JSON Lines files with the same columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers import _hub_rows as kinds
from interlace.readers._common import chunks_of
from interlace.readers._hub_table import Table, open_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.readers._hub_rows import Kind
    from interlace.readers._hub_table import Row
    from interlace.text import Text, TextPairs


def _usual(what: str, names: tuple[str, ...]) -> str:
    return f"Column of {what}; none: the one there is of {', '.join(names)}."


class Hub(Reader):
    """Questions, tagged words, pairs, translations or plain text: whichever the columns are there for.

    Columns have their usual names, those of XNLI, PAWS-X, WikiANN, XTREME, SQuAD, XQuAD and MLQA among them; others are
    named here. Line feeds become blanks. Pairs without a label have an empty one.
    """

    kind: Literal["auto", "questions", "tags", "pairs", "translations", "lines"] = Field(
        "auto", description="What the rows are; 'auto': the first of these whose columns are there."
    )
    context: str | None = Field(None, description=_usual("the passage", kinds.CONTEXT))
    question: str | None = Field(None, description=_usual("the question", kinds.QUESTION))
    answers: str | None = Field(None, description=_usual("its answers, as SQuAD has them", kinds.ANSWERS))
    tokens: str | None = Field(None, description=_usual("the words", kinds.TOKENS))
    tags: str | None = Field(None, description=_usual("their tags", kinds.TAGS))
    tag_kind: Literal["auto", "names", "pos"] = Field(
        "auto", description="Entities in IOB2 or parts of speech; 'auto': entities where the column's name holds 'ner'."
    )
    join: Literal["auto", "blank", "nothing"] = Field(
        "auto", description="What stands between words in the line; auto: a blank, but nothing in unspaced scripts."
    )
    first: str | None = Field(None, description=_usual("a pair's first text", kinds.FIRST))
    second: str | None = Field(None, description=_usual("a pair's second text", kinds.SECOND))
    label: str | None = Field(None, description=_usual("the label of a pair or a line", kinds.LABEL))
    label_names: list[str] = Field(
        [], description="Names of labels or tags that are numbers, from 0; none: those the data set gives, or numbers."
    )
    text: str | None = Field(None, description=_usual("plain text", kinds.TEXT))
    language_column: str = Field("language", description="Where this column exists, other languages' rows are skipped.")
    language_names: dict[str, str] = Field(
        {},
        description="Language -> what it is called there, or what stands before the first '-', as in TyDi QA's ids.",
    )
    word_tokenizer: str = Field("blanks", description="What finds the words (a member of the room of word tokenizers).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """The data sets one after another; of two languages, the first is that of passages, or of a pair's source."""
        if not paths or len(languages) not in {1, 2}:
            raise DataError(
                f"the reader 'hub' takes data sets of one language or two, found {len(paths)} for {len(languages)} "
                f"languages ({', '.join(languages)})"
            )
        for path in paths:
            yield from self._chunks(open_table(path), (languages[0], languages[-1]))

    def _chunks(self, table: Table, languages: tuple[str, str]) -> Iterator[Text | TextPairs]:
        notes: Counter[str] = Counter()
        kind = kinds.kind_of(self, table, languages)
        found = False
        for chunk in chunks_of(kind.items(self._wanted(table, kind, languages), notes)):
            found = True
            yield kind.made(chunk, notes)
            notes.clear()
        if not found:
            raise DataError(f"{table.path}: there is nothing in it to read")

    def _wanted(self, table: Table, kind: Kind, languages: tuple[str, str]) -> Iterator[Row]:
        """The rows of the language: of translations and where no column tells, all."""
        if self.language_column not in table.columns or kind.several:
            yield from table.rows()
            return
        wanted = self.language_names.get(languages[-1], languages[-1])
        others: Counter[str] = Counter()
        for row in table.rows():
            own = str(row.value(self.language_column))
            if wanted in {own, own.partition("-")[0]}:
                yield row
            else:
                others[own.partition("-")[0]] += 1
        if others.total() == table.read:
            known = ", ".join(name for name, _ in others.most_common(12))
            raise DataError(
                f"{table.path}: no row of {wanted!r} in the column {self.language_column!r}, which holds {known}; "
                "'language_names' of the reader says what a language is called there"
            )
