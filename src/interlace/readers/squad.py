"""Extractive question answering as SQuAD v1.1's JSON (Rajpurkar et al. 2016), also XQuAD, MLQA, TyDi QA GoldP."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from interlace.core.display import listed
from interlace.readers import TokenizingReader
from interlace.readers.common.questions import (
    AnsweredQuestion,
    answered_question,
    question_pairs,
    read_squad,
)
from interlace.readers.common.text import chunks_with_notes, expect, one_line
from interlace.text import TextPairs


class Squad(TokenizingReader):
    """A pair per question, in the order of the file: the passage is the source, the question the target.

    `answers` of the pairs are all texts that count as correct; `answers` of the source is the span of the first of them
    that occurs in the passage. An answer that is not at its `answer_start` is moved to its only occurrence; with none
    or several occurrences it has no span, but still counts as correct. Questions without an answer are kept. All of
    this is counted in the notes.
    """

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; two languages are those of the passages and of the questions."""
        expect(self, paths, languages, 1, 2)
        empty = f"{listed(paths)}: there is no question in it"
        for chunk, notes in chunks_with_notes(paths, _questions, empty):
            yield question_pairs(chunk, (languages[0], languages[-1]), self.word_tokenizer, notes)


def _questions(path: Path, notes: Counter[str]) -> Iterator[AnsweredQuestion]:
    for article in read_squad(path)["data"]:
        for paragraph in article["paragraphs"]:
            context = one_line(paragraph["context"], notes)
            for question in paragraph["qas"]:
                yield answered_question(question, context, notes)
