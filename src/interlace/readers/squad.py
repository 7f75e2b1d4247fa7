"""Questions on passages as SQuAD v1.1 has them in JSON (Rajpurkar et al. 2016), also XQuAD, MLQA, TyDi QA GoldP."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.errors import DataError
from interlace.readers import Reader
from interlace.readers._common import chunks_of, plain_pairs
from interlace.readers._json import Node, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import TextPairs

NOWHERE = (-1, -1)  # the place of an answer that has none


@dataclass(frozen=True)
class _Question:
    context: str
    text: str
    key: str
    place: tuple[int, int]
    answers: list[str]


class Squad(Reader):
    """A pair a question, in the order of the file: the passage is its source, the question its target.

    `answers` of the pairs are all texts that count as right; `answers` of the source is the place of the first of them
    that has one. An answer that does not stand where the file says is moved to where it does stand, if that is one
    place; if not, it has no place, but still counts as right. Questions without an answer stay. All is counted.
    """

    splitter: str = Field("blanks", description="What finds the words (a member of the room of word splitters).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[TextPairs]:
        """The files one after another; two languages are those of the passages and of the questions."""
        context, question = _languages(paths, languages)
        notes: Counter[str] = Counter()
        found = False
        for chunk in chunks_of(item for path in paths for item in _questions(path, notes)):
            found = True
            sides = ([item.context for item in chunk], [item.text for item in chunk])
            pairs = plain_pairs(sides, (context, question), self.splitter, notes=notes)
            yield replace(
                pairs,
                source=replace(pairs.source, answers=[item.place for item in chunk]),
                answers=[item.answers for item in chunk],
                ids=[item.key for item in chunk],
            )
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


def _questions(path: Path, notes: Counter[str]) -> Iterator[_Question]:
    for article in read_json(path).each("data"):
        for paragraph in article.each("paragraphs"):
            context = _one_line(paragraph.text("context"), notes)
            for node in paragraph.each("qas"):
                yield _question(node, context, notes)


def _question(node: Node, context: str, notes: Counter[str]) -> _Question:
    text = _one_line(node.text("question"), notes)
    answers, places = [], []
    for answer in node.each("answers") if node.has("answers") else ():
        wanted = _one_line(answer.text("text"), notes)
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
    return _Question(context, text, _key(node), place, answers)


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


def _one_line(text: str, notes: Counter[str]) -> str:
    """Line feeds as blanks, which keeps every character's place: lines cannot hold them."""
    if "\n" not in text:
        return text
    notes["line feeds read as blanks"] += text.count("\n")
    return text.replace("\n", " ")


def _key(node: Node) -> str:
    """The question's own id; ids may repeat (TyDi QA's do), so rows are known by their place."""
    value = node.value.get("id", "")
    return value if isinstance(value, str) else str(value)
