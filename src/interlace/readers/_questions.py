"""Questions on passages with their answers, however a file writes them: where an answer stands, and what is mended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from interlace.readers._common import plain_pairs

if TYPE_CHECKING:
    from collections import Counter

    from interlace.readers._json import Node
    from interlace.text import TextPairs

NOWHERE = (-1, -1)  # the place of an answer that has none


@dataclass(frozen=True)
class Question:
    """A question; `place` is that of the first of its answers which has one."""

    context: str
    text: str
    key: str
    place: tuple[int, int]
    answers: list[str]


def as_pairs(
    questions: list[Question], languages: tuple[str, str], word_tokenizer: str, notes: Counter[str]
) -> TextPairs:
    """Passages as the source, questions as the target; `languages` are those of passages and of questions."""
    sides = ([item.context for item in questions], [item.text for item in questions])
    pairs = plain_pairs(sides, languages, word_tokenizer, notes=notes)
    return replace(
        pairs,
        source=replace(pairs.source, answers=[item.place for item in questions]),
        answers=[item.answers for item in questions],
        ids=[item.key for item in questions],
    )


def read_question(node: Node, context: str, notes: Counter[str]) -> Question:
    """The question that an object of SQuAD's shape holds: `question`, `answers` if any, and `id` if any."""
    text = one_line(node.text("question"), notes)
    answers, places = [], []
    for answer in node.each("answers") if node.has("answers") else ():
        wanted = one_line(answer.text("text"), notes)
        if wanted.strip():
            answers.append(wanted)
            places.append(_place(wanted, answer.number("answer_start"), context, notes))
    place = next((place for place in places if place != NOWHERE), NOWHERE)
    notes["questions without an answer, not scored and not learnt from"] += not answers
    notes["questions with answers, none of which has a place; scored, not learnt from"] += (
        bool(answers) and place == NOWHERE
    )
    notes["questions without text"] += not text.strip()
    notes["questions whose passage has no text"] += not context.strip()
    return Question(context, text, _key(node), place, answers)


def _place(answer: str, start: int, context: str, notes: Counter[str]) -> tuple[int, int]:
    """Where the answer stands: at `start`, else at the only place that there is."""
    if start >= 0 and context.startswith(answer, start):
        return start, start + len(answer)
    found = context.find(answer)
    if found < 0 or context.find(answer, found + 1) >= 0:
        notes["answers that stand neither where they say nor at one other place"] += 1
        return NOWHERE
    notes["answers moved to where they stand"] += 1
    return found, found + len(answer)


def one_line(text: str, notes: Counter[str]) -> str:
    """Line feeds as blanks, which keeps every character's place: lines cannot hold them."""
    if "\n" not in text:
        return text
    notes["line feeds read as blanks"] += text.count("\n")
    return text.replace("\n", " ")


def _key(node: Node) -> str:
    """The question's own id; ids may repeat (TyDi QA's do), so rows are known by their place."""
    value = node.value.get("id", "")
    return value if isinstance(value, str) else str(value)
