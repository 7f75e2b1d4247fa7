"""Extractive question answering as SQuAD v1.1's JSON (Rajpurkar et al. 2016), also XQuAD, MLQA, TyDi QA GoldP."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from interlace.readers import TokenizingReader
from interlace.readers.common.questions import (
    AnsweredQuestion,
    answered_question,
    question_pairs,
    read_squad,
)
from interlace.readers.common.text import one_line, texts_of
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
        sides = (languages[0], languages[-1])

        def pairs_of(chunk: list[AnsweredQuestion]) -> TextPairs:
            return question_pairs(chunk, sides, self.word_tokenizer)

        yield from texts_of(self, paths, languages, _questions, pairs_of)


def _questions(path: Path, notes: Counter[str]) -> Iterator[AnsweredQuestion]:
    for article in read_squad(path)["data"]:
        for paragraph in article["paragraphs"]:
            context = one_line(paragraph["context"], notes)
            for question in paragraph["qas"]:
                yield answered_question(question, context, notes)
