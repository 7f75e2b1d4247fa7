"""German sentences worked out by hand: verb second, cases, endings, nicht and kein, separable verbs."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, links, problems

READS = Scene("read", Phrase("doctor", "the", "old"), object=Phrase("letter", "three"), place=Phrase("library", "the"))


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (READS, "Der alte Arzt liest in der Bibliothek drei Briefe."),
        (
            Scene("find", Phrase("anna"), "past", Phrase("key", "the"), place=Phrase("berlin"), time="yesterday",
                  negated=True, fronted=True),
            "Gestern fand Anna in Berlin den Schlüssel nicht.",
        ),
        (
            Scene("give", Phrase("teacher", "a", "young"), "past", Phrase("apple", "a", "red"), Phrase("student",
         "this"),
                  time="last_week"),
            "Eine junge Lehrerin gab diesem Studenten letzte Woche einen roten Apfel.",
        ),
        (Scene("follow", Phrase("dog", "many", "old"), object=Phrase("boy", "these")),
         "Viele alte Hunde folgen diesen Jungen."),
        (Scene("help", Phrase("man", "every"), object=Phrase("woman", "two", "tired")),
         "Jeder Mann hilft zwei müden Frauen."),
        (Scene("call", Phrase("leo"), "past", Phrase("nina"), negated=True), "Leo rief Nina nicht an."),
        (Scene("call", Phrase("leo"), "future", Phrase("nina")), "Leo wird Nina anrufen."),
        (Scene("buy", Phrase("leo"), "past", Phrase("car", "a", "expensive"), negated=True),
         "Leo kaufte kein teures Auto."),
        (Scene("drink", Phrase("leo"), object=Phrase("milk", "", "cold"), negated=True),
         "Leo trinkt keine kalte Milch."),
        (Scene("return", Phrase("king", "three"), "past", goal=Phrase("castle", "the", "old"), negated=True),
         "Drei Könige kehrten nicht ins alte Schloss zurück."),
        (Scene("wait", Phrase("sara"), "past", companion=Phrase("policeman", "the"), place=Phrase("station", "the")),
         "Sara wartete mit dem Polizisten am Bahnhof."),
        (Scene("be", Phrase("peter"), category="chef", negated=True), "Peter ist kein Koch."),
        (Scene("be", Phrase("cup", "these"), "future", quality="empty", time="next_month"),
         "Diese Tassen werden nächsten Monat leer sein."),
        (Scene("travel", Phrase("sailor", "no"), goal=Phrase("island", "the")), "Kein Matrose reist auf die Insel."),
    ],
)  # fmt: skip
def test_statements(scene: Scene, text: str) -> None:
    assert not problems(scene)
    assert language("de").realize(scene).text == text


def test_questions() -> None:
    question = language("de").question
    assert question(READS, "subject").text == "Wer liest in der Bibliothek drei Briefe?"
    assert question(READS, "place").text == "Wo liest der alte Arzt drei Briefe?"
    assert question(READS, "object.count").text == "Wie viele Briefe liest der alte Arzt in der Bibliothek?"
    goes = Scene("arrive", Phrase("leo"), "past", place=Phrase("harbor", "the"), time="yesterday")
    assert question(goes, "time").text == "Wann kam Leo im Hafen an?"
    helps = Scene("help", Phrase("leo"), "future", Phrase("thief", "two"))
    assert question(helps, "object").text == "Wem wird Leo helfen?"
    assert question(helps, "object.count").text == "Wie vielen Dieben wird Leo helfen?"


def test_links_with_english() -> None:
    scene = Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("park", "the"), negated=True)
    english, german = language("en").realize(scene), language("de").realize(scene)
    assert english.text == "Anna did not find a key in the park."
    assert german.text == "Anna fand im Park keinen Schlüssel."
    # did-fand, not-keinen, find-fand, a-keinen, in-im, the-im
    assert links(english, german) == [(0, 0), (1, 1), (2, 4), (3, 1), (4, 4), (5, 5), (6, 2), (7, 2), (8, 3), (9, 6)]
