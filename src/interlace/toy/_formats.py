"""Sentences as lines of standard formats: CoNLL-U, IOB2, Pharaoh links, words parted by blanks. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from interlace.toy._tokens import Sentence


def conllu(sentences: Iterable[Sentence], prefix: str) -> Iterator[str]:
    """CoNLL-U: ten columns a word, of which ID FORM LEMMA UPOS HEAD DEPREL and SpaceAfter=No in MISC are filled."""
    for number, sentence in enumerate(sentences, 1):
        yield f"# sent_id = {prefix}-{number}"
        yield f"# text = {sentence.text}"
        last = len(sentence.words)
        for index, word in enumerate(sentence.words, 1):
            touches = index < last and not sentence.space_before(index)
            misc = "SpaceAfter=No" if touches else "_"
            columns = (index, word.form, word.lemma, word.upos, "_", "_", word.head, word.deprel, "_", misc)
            yield "\t".join(map(str, columns))
        yield ""


def iob(sentences: Iterable[Sentence]) -> Iterator[str]:
    """A word and its IOB2 tag (PER, LOC) a line, an empty line behind each sentence."""
    for sentence in sentences:
        yield from (f"{word.form}\t{word.name}" for word in sentence.words)
        yield ""


def words(sentence: Sentence) -> str:
    """Gold words parted by one blank: what links count."""
    return " ".join(word.form for word in sentence.words)


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as "0-0 1-2", 0-based, source first."""
    return " ".join(f"{i}-{j}" for i, j in links)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Tab-separated lines under a header; no cell of the world holds a tab, so nothing is quoted."""
    yield "\t".join(header)
    yield from ("\t".join(row) for row in rows)


def squad(paragraphs: Iterable[dict[str, Any]], title: str) -> dict[str, Any]:
    """SQuAD v1.1: paragraphs of {"context", "qas"} under one title."""
    return {"version": "1.1", "data": [{"title": title, "paragraphs": list(paragraphs)}]}
