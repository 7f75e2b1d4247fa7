"""Spanish sentences worked out by hand: agreement, personal a, al, ser and estar, hay, ningún, questions."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, links, problems

READS = Scene("read", Phrase("doctor", "the", "old"), object=Phrase("letter", "three"), place=Phrase("library", "the"))
FOLLOWS = Scene("follow", Phrase("dog", "many", "tired"), "past", Phrase("cat", "these", "white"))
THERE = Scene("be", Phrase("key", "two", "old"), "past", place=Phrase("kitchen", "the"), time="yesterday")


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (READS, "El médico viejo lee tres cartas en la biblioteca."),
        (FOLLOWS, "Muchos perros cansados siguieron a estos gatos blancos."),
        (Scene("hear", Phrase("leo"), "past", Phrase("eagle", "a", "dangerous")), "Leo oyó un águila peligrosa."),
        (Scene("hear", Phrase("leo"), "past", Phrase("eagle", "the")), "Leo oyó al águila."),
        (Scene("buy", Phrase("leo"), "future", Phrase("cow", "the")), "Leo comprará la vaca."),
        (Scene("give", Phrase("teacher", "a", "young"), "past", Phrase("apple", "a", "red"),
               Phrase("student", "the"), time="last_week"),
         "Una maestra joven dio una manzana roja al estudiante la semana pasada."),
        (Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("cairo"), time="yesterday",
               negated=True, fronted=True),
         "Ayer Anna no encontró ninguna llave en El Cairo."),
        (Scene("call", Phrase("nina"), "past", Phrase("king", "a"), negated=True), "Nina no llamó a ningún rey."),
        (Scene("return", Phrase("king", "three"), "past", goal=Phrase("cairo")), "Tres reyes volvieron a El Cairo."),
        (Scene("arrive", Phrase("nurse", "no"), "future", place=Phrase("harbor", "the")),
         "Ninguna enfermera llegará al puerto."),
        (Scene("know", Phrase("guest", "every"), "past", Phrase("omar", surname="kaya"), time="last_year"),
         "Cada invitado conocía a Omar Kaya el año pasado."),
        (Scene("drink", Phrase("sara"), object=Phrase("water", "", "cold"), manner="slowly",
               companion=Phrase("policeman", "the")),
         "Sara bebe agua fría lentamente con el policía."),
        (Scene("be", Phrase("water"), "past", quality="hot", time="last_friday"),
         "El agua estaba caliente el viernes pasado."),
        (Scene("be", Phrase("pear", "some"), quality="green"), "Algunas peras son verdes."),
        (Scene("be", Phrase("anna"), "future", category="singer", time="next_year", negated=True),
         "Anna no será cantante el próximo año."),
        (Scene("be", Phrase("peter"), category="thief"), "Peter es un ladrón."),
        (Scene("be", Phrase("key", "this"), place=Phrase("garden", "the"), negated=True),
         "Esta llave no está en el jardín."),
        (THERE, "Había dos llaves viejas en la cocina ayer."),
    ],
)  # fmt: skip
def test_statements(scene: Scene, text: str) -> None:
    assert not problems(scene)
    assert language("es").realize(scene).text == text


@pytest.mark.parametrize(
    ("scene", "role", "text"),
    [
        (READS, "subject", "¿Quién lee tres cartas en la biblioteca?"),
        (READS, "place", "¿Dónde lee el médico viejo tres cartas?"),
        (READS, "object.count", "¿Cuántas cartas lee el médico viejo en la biblioteca?"),
        (FOLLOWS, "object", "¿A qué animal siguieron muchos perros cansados?"),
        (Scene("help", Phrase("leo"), "future", Phrase("thief", "two")), "object", "¿A quién ayudará Leo?"),
        (Scene("help", Phrase("leo"), "future", Phrase("thief", "two")), "object.count",
         "¿A cuántos ladrones ayudará Leo?"),
        (Scene("go", Phrase("leo"), goal=Phrase("park", "the")), "goal", "¿Adónde va Leo?"),
        (Scene("be", Phrase("soup"), "past", quality="cold", time="yesterday"), "time", "¿Cuándo estaba fría la sopa?"),
        (Scene("be", Phrase("nurse", "three"), quality="rich"), "subject.count", "¿Cuántas enfermeras son ricas?"),
        (THERE, "subject.count", "¿Cuántas llaves viejas había en la cocina ayer?"),
        (THERE, "place", "¿Dónde había dos llaves viejas ayer?"),
        (Scene("be", Phrase("queen", "a"), place=Phrase("castle", "the")), "subject", "¿Quién está en el castillo?"),
    ],
)  # fmt: skip
def test_questions(scene: Scene, role: str, text: str) -> None:
    assert not problems(scene)
    question = language("es").question(scene, role)
    assert question.text == text
    assert (question.words[0].form, question.words[0].upos) == ("¿", "PUNCT")


def test_al_stands_for_two_words() -> None:
    scene = Scene("go", Phrase("anna"), "past", goal=Phrase("park", "the", "small"))
    english, spanish = language("en").realize(scene), language("es").realize(scene)
    assert english.text == "Anna went to the small park."
    assert spanish.text == "Anna fue al parque pequeño."
    assert links(english, spanish) == [(0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (5, 3), (6, 5)]
    assert [word.lemma for word in spanish.words] == ["Anna", "ir", "a", "parque", "pequeño", "."]
    assert [word.head for word in spanish.words] == [2, 0, 4, 2, 4, 2]


def test_the_article_of_a_mass_subject_links_to_nothing() -> None:
    scene = Scene("be", Phrase("milk"), quality="cold")
    english, spanish = language("en").realize(scene), language("es").realize(scene)
    assert spanish.text == "La leche está fría."
    assert links(english, spanish) == [(0, 1), (1, 2), (2, 3), (3, 4)]
