"""English sentences worked out by hand."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, problems

THE_DOCTOR = Phrase("doctor", "the", "old")
LETTERS = Phrase("letter", "three")
READS = Scene("read", THE_DOCTOR, object=LETTERS, place=Phrase("library", "the"))


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (READS, "The old doctor reads three letters in the library."),
        (
            Scene("find", Phrase("anna"), "past", Phrase("key", "the"), place=Phrase("berlin"), time="yesterday",
                    negated=True),
            "Anna did not find the key in Berlin yesterday.",
        ),
        (
            Scene("give", Phrase("boy", "every"), "past", Phrase("apple", "a"), Phrase("maria", surname="kaya"),
                  time="last_week", fronted=True),
            "Last week every boy gave an apple to Maria Kaya.",
        ),
        (Scene("seek", Phrase("wolf", "many"), "future", Phrase("sheep", "a")), None),
        (Scene("seek", Phrase("thief", "two"), "future", Phrase("key", "the")), "Two thieves will look for the key."),
        (Scene("drink", Phrase("lawyer", "no"), object=Phrase("milk", "", "cold")), "No lawyer drinks cold milk."),
        (Scene("be", Phrase("omar"), category="engineer"), None),
        (Scene("be", Phrase("nina"), category="engineer", negated=True), "Nina is not an engineer."),
        (Scene("be", Phrase("cup", "these"), "past", quality="empty", time="last_friday"),
         "These cups were empty last Friday."),
        (Scene("go", Phrase("leo"), "past", goal=Phrase("new_delhi"), companion=Phrase("sara")),
         "Leo went to New Delhi with Sara."),
    ],
)  # fmt: skip
def test_statements(scene: Scene, text: str | None) -> None:
    if text is None:
        assert problems(scene)
    else:
        assert not problems(scene)
        assert language("en").realize(scene).text == text


def test_questions() -> None:
    question = language("en").question
    assert question(READS, "subject").text == "Who reads three letters in the library?"
    assert question(READS, "object").text == "What does the old doctor read in the library?"
    assert question(READS, "object.count").text == "How many letters does the old doctor read in the library?"
    key = Scene("be", Phrase("key", "the"), place=Phrase("kitchen", "the"))
    assert question(key, "place").text == "Where is the key?"
    statement = language("en").realize(key)
    start, end = statement.span("place")
    assert statement.text[start:end] == "in the kitchen"


def test_gold_of_one_sentence() -> None:
    scene = Scene(
        "see", Phrase("anna", surname="weber"), "past", Phrase("dog", "a"), place=Phrase("new_delhi"), negated=True
    )
    words = language("en").realize(scene).words
    assert [word.form for word in words] == [
        "Anna",
        "Weber",
        "did",
        "not",
        "see",
        "a",
        "dog",
        "in",
        "New",
        "Delhi",
        ".",
    ]
    assert [word.head for word in words] == [5, 1, 5, 5, 0, 7, 5, 9, 5, 9, 5]
    assert [word.name for word in words] == ["B-PER", "I-PER", *"OOOOOO", "B-LOC", "I-LOC", "O"]
    assert " ".join(word.upos for word in words) == "PROPN PROPN AUX PART VERB DET NOUN ADP PROPN PROPN PUNCT"
    assert words[2].roles == ("tense",)
    assert words[4].roles == ("predicate",)
