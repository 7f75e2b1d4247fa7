"""Extractive question answering as SQuAD v1.1's JSON (Rajpurkar et al. 2016), also XQuAD, MLQA, TyDi QA GoldP."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from interlace.core.display import listed
from interlace.readers import Reader
from interlace.readers.common.questions import (
    AnsweredQuestion,
    question_pairs,
    read_json,
    read_question,
)
from interlace.readers.common.text import chunks_with_notes, expect, one_line
from interlace.text import TextPairs


class Squad(Reader):
    """A pair per question, in the order of the file: the passage is the source, the question the target.

    `answers` of the pairs are all texts that count as correct; `answers` of the source is the span of the first of them
    that occurs in the passage. An answer that is not at its `answer_start` is moved to its only occurrence; with none
    or several occurrences it has no span, but still counts as correct. Questions without an answer are kept. All of
    this is counted in the notes.
    """

    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """Read one file after another; two languages are those of the passages and of the questions."""
        fits = bool(paths) and 1 <= len(languages) <= 2
        expect(
            "squad",
            "files of one language, or those of passages and questions",
            paths,
            languages,
            fits=fits,
        )
        empty = f"{listed(paths)}: there is no question in it"
        for chunk, notes in chunks_with_notes(paths, _questions, empty):
            yield question_pairs(chunk, (languages[0], languages[-1]), self.word_tokenizer, notes)


def _questions(path: Path, notes: Counter[str]) -> Iterator[AnsweredQuestion]:
    for article in read_json(path).each("data"):
        for paragraph in article.each("paragraphs"):
            context = one_line(paragraph.text("context"), notes)
            for node in paragraph.each("qas"):
                yield read_question(node, context, notes)
