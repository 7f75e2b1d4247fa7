"""Questions in SQuAD's JSON."""

import json

import pytest

from interlace.core.errors import DataError
from interlace.readers import READERS
from interlace.readers.common.questions import NOT_FOUND

PASSAGE = "Anna reads a letter. Omar reads a book."


def question(*answers, text="Who reads?", key="q"):
    return {
        "id": key,
        "question": text,
        "answers": [{"text": text, "answer_start": start} for text, start in answers],
    }


def document(*paragraphs):
    articles = [
        {"paragraphs": [{"context": context, "qas": asked}]} for context, asked in paragraphs
    ]
    return {"version": "1.1", "data": articles}


@pytest.fixture
def read(tmp_path):
    """Reads a document from a file; all questions in one chunk."""

    def make(content, languages=("en",)):
        path = tmp_path / "qa.json"
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
        (chunk,) = READERS.build("squad").read_chunks([path], list(languages))
        return chunk

    return make


def counted(chunk):
    return {what: count for what, count in chunk.notes.items() if count}


def test_a_question_is_a_pair_with_its_passage(read):
    first = question(("nobody", 0), ("Anna", 0), key="a")
    pairs = read(document((PASSAGE, [first, question(("a book", 32), key="b")])))
    assert pairs.source.lines == [PASSAGE, PASSAGE]
    assert pairs.target.lines == ["Who reads?"] * 2
    assert pairs.source.answers == [(0, 4), (32, 38)]
    assert pairs.answers == [["nobody", "Anna"], ["a book"]]
    assert pairs.ids == ["a", "b"]


@pytest.mark.parametrize("start", [3, 1000, -5, 20])
def test_moves_an_answer_to_its_only_occurrence(read, start):
    pairs = read(document((PASSAGE, [question(("Omar", start))])))
    assert pairs.source.answers == [(21, 25)]
    assert counted(pairs) == {
        "answers with a wrong answer_start, moved to their only occurrence": 1
    }


@pytest.mark.parametrize("answers", [[("", 0)], [(" ", 4)], []])
def test_keeps_and_counts_questions_without_an_answer(read, answers):
    pairs = read(document((PASSAGE, [question(*answers)])))
    assert (pairs.answers, pairs.source.answers) == ([[]], [NOT_FOUND])
    assert counted(pairs) == {"questions without an answer (neither scored nor trained on)": 1}


def test_line_feeds_and_surrogates_are_replaced(read):
    pairs = read(document(("Anna\nreads \ud800 a\n\nletter", [question(("a\n\nletter", 13))])))
    assert pairs.source.lines == ["Anna reads \ufffd a  letter"]
    assert pairs.answers == [["a  letter"]]
    assert counted(pairs) == {"line feeds read as spaces": 5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"data": [3]}, r"key 'data', entry 1: input should be a valid dictionary, found 3"),
        (
            document((PASSAGE, [question(("Anna", 0)), question(("Omar", True))])),
            r"entry 2, key 'answers', entry 1, key 'answer_start': .* valid integer, found True",
        ),
        (document(), r"no sentence, pair or question in en"),
        ('{"data":\n [1,]}', r"line 2: invalid JSON"),
        ('{"data": [], "data": [], "version": 1}', r"invalid JSON: several values of 'data'$"),
        ("[" * 100_000, r"nested deeper than 100"),
    ],
)
def test_names_the_place_of_wrong_values(read, content, message):
    with pytest.raises(DataError, match=rf"(?s)qa\.json.*({message})"):
        read(content)
