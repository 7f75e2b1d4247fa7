"""Extractive question answering as SQuAD v1.1's JSON (Rajpurkar et al. 2016), also XQuAD, MLQA, TyDi QA GoldP."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.questions import question_pairs, read_json, read_question
from interlace.readers.common.text import chunks_of, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.readers.common.questions import AnsweredQuestion
    from interlace.text import TextPairs


class Squad(Reader):
    """A pair per question, in the order of the file: the passage is the source, the question the target.

    `answers` of the pairs are all texts that count as correct; `answers` of the source is the span of the first of them
    that occurs in the passage. An answer that is not at its `answer_start` is moved to its only occurrence; with none
    or several occurrences it has no span, but still counts as correct. Questions without an answer are kept. All of
    this is counted in the notes.
    """

    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; two languages are those of the passages and of the questions."""
        context, question = _languages(paths, languages)
        notes: Counter[str] = Counter()
        found = False
        for chunk in chunks_of(item for path in paths for item in _questions(path, notes)):
            found = True
            yield question_pairs(chunk, (context, question), self.word_tokenizer, notes)
            notes.clear()
        if not found:
            raise DataError(f"{', '.join(str(path) for path in paths)}: there is no question in it")


def _languages(paths: list[Path], languages: list[str]) -> tuple[str, str]:
    if not 1 <= len(languages) <= 2:
        named = ", ".join(languages)
        raise DataError(f"the reader 'squad' takes one language, or those of passages and questions; found {named}")
    if not paths:
        raise DataError("the reader 'squad' needs at least one file, found none")
    return languages[0], languages[-1]


def _questions(path: Path, notes: Counter[str]) -> Iterator[AnsweredQuestion]:
    for article in read_json(path).each("data"):
        for paragraph in article.each("paragraphs"):
            context = one_line(paragraph.text("context"), notes)
            for node in paragraph.each("qas"):
                yield read_question(node, context, notes)
