"""Questions on passages as SQuAD v1.1 has them in JSON (Rajpurkar et al. 2016), also XQuAD, MLQA, TyDi QA GoldP."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers._common import chunks_of
from interlace.readers._json import read_json
from interlace.readers._questions import as_pairs, one_line, read_question

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.readers._questions import Question
    from interlace.text import TextPairs


class Squad(Reader):
    """A pair a question, in the order of the file: the passage is its source, the question its target.

    `answers` of the pairs are all texts that count as right; `answers` of the source is the place of the first of them
    that has one. An answer that does not stand where the file says is moved to where it does stand, if that is one
    place; if not, it has no place, but still counts as right. Questions without an answer stay. All is counted.
    """

    word_tokenizer: str = Field("blanks", description="What finds the words (a member of the room of word tokenizers).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """The files one after another; two languages are those of the passages and of the questions."""
        context, question = _languages(paths, languages)
        notes: Counter[str] = Counter()
        found = False
        for chunk in chunks_of(item for path in paths for item in _questions(path, notes)):
            found = True
            yield as_pairs(chunk, (context, question), self.word_tokenizer, notes)
            notes.clear()
        if not found:
            raise DataError(f"{', '.join(str(path) for path in paths)}: there is no question in it")


def _languages(paths: list[Path], languages: list[str]) -> tuple[str, str]:
    if not 1 <= len(languages) <= 2:
        named = ", ".join(languages)
        raise DataError(
            f"the reader 'squad' reads one language, or that of passages and that of questions; found {named}"
        )
    if not paths:
        raise DataError("the reader 'squad' needs at least one file, found none")
    return languages[0], languages[-1]


def _questions(path: Path, notes: Counter[str]) -> Iterator[Question]:
    for article in read_json(path).each("data"):
        for paragraph in article.each("paragraphs"):
            context = one_line(paragraph.text("context"), notes)
            for node in paragraph.each("qas"):
                yield read_question(node, context, notes)
