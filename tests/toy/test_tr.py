"""Turkish words and sentences worked out by hand: harmony, softening, cases, tenses, copulas, questions in place."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, links, problems
from interlace.toy.languages.tr import NOUN, VERB, conjugated, declined, declined_name, was

READS = Scene("read", Phrase("doctor", "the", "old"), object=Phrase("letter", "three"), place=Phrase("library", "the"))
GIVES = Scene("give", Phrase("anna"), "past", Phrase("key", "the", "old"), Phrase("leo", surname="smith"),
              time="last_week", manner="secretly")  # fmt: skip
THERE = Scene("be", Phrase("key", "two", "old"), "past", place=Phrase("kitchen", "the"), time="yesterday")


@pytest.mark.parametrize(
    ("concept", "accusative", "dative", "locative", "with_it"),
    [
        ("book", "kitabı", "kitaba", "kitapta", "kitapla"),  # p softens before vowels, d hardens behind p
        ("horse", "atı", "ata", "atta", "atla"),
        ("clock", "saati", "saate", "saatte", "saatle"),  # front vowels behind a back one
        ("river", "nehri", "nehre", "nehirde", "nehirle"),  # a vowel falls
        ("lake", "gölü", "göle", "gölde", "gölle"),
        ("water", "suyu", "suya", "suda", "suyla"),
        ("shop", "dükkânı", "dükkâna", "dükkânda", "dükkânla"),
        ("airport", "havaalanını", "havaalanına", "havaalanında", "havaalanıyla"),
    ],
)
def test_declension(concept: str, accusative: str, dative: str, locative: str, with_it: str) -> None:
    forms = [declined(NOUN[concept], case, plural=False) for case in ("acc", "dat", "loc", "ins")]
    assert forms == [accusative, dative, locative, with_it]


def test_plurals_and_names() -> None:
    plurals = [declined(NOUN[noun], "acc", plural=True) for noun in ("clock", "dog", "tree", "scientist")]
    assert plurals == ["saatleri", "köpekleri", "ağaçları", "insanlarını"]
    names = [declined_name(*pair) for pair in (("Leo", "acc"), ("Paris", "loc"), ("Chen", "dat"), ("Nina", "ins"))]
    assert names == ["Leo'yu", "Paris'te", "Chen'e", "Nina'yla"]
    assert [was(form) for form in ("güzel", "mutlu", "boş", "evde", "değil")] == [
        "güzeldi", "mutluydu", "boştu", "evdeydi", "değildi"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("concept", "forms"),
    [
        ("go", "gitti gidiyor gidecek gitmedi gitmiyor gitmeyecek"),
        ("eat", "yedi yiyor yiyecek yemedi yemiyor yemeyecek"),
        ("read", "okudu okuyor okuyacak okumadı okumuyor okumayacak"),
        ("wait", "bekledi bekliyor bekleyecek beklemedi beklemiyor beklemeyecek"),
        ("sing", "söyledi söylüyor söyleyecek söylemedi söylemiyor söylemeyecek"),
        ("see", "gördü görüyor görecek görmedi görmüyor görmeyecek"),
        ("open", "açtı açıyor açacak açmadı açmıyor açmayacak"),
    ],
)
def test_conjugation(concept: str, forms: str) -> None:
    found = [conjugated(VERB[concept], tense, negated=negated)
             for negated in (False, True) for tense in ("past", "present", "future")]  # fmt: skip
    assert " ".join(found) == forms


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (READS, "Yaşlı doktor kütüphanede üç mektup okuyor."),
        (GIVES, "Anna geçen hafta eski anahtarı Leo Smith'e gizlice verdi."),
        (Scene("give", Phrase("teacher", "a", "young"), "past", Phrase("apple", "a", "red"), Phrase("student", "this")),
         "Genç bir öğretmen bu öğrenciye kırmızı bir elma verdi."),
        (Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("istanbul"), time="yesterday",
               negated=True, fronted=True),
         "Dün Anna İstanbul'da hiçbir anahtar bulmadı."),
        (Scene("follow", Phrase("dog", "many", "old"), object=Phrase("boy", "these")),
         "Birçok yaşlı köpek bu oğlanları takip ediyor."),
        (Scene("help", Phrase("man", "every"), object=Phrase("woman", "two", "tired")),
         "Her adam iki yorgun kadına yardım ediyor."),
        (Scene("return", Phrase("king", "two"), "future", goal=Phrase("new_delhi"), companion=Phrase("laura")),
         "İki kral Laura'yla Yeni Delhi'ye dönecek."),
        (Scene("drink", Phrase("pupil", "the"), object=Phrase("juice"), negated=True),
         "Talebe meyve suyu içmiyor."),
        (Scene("arrive", Phrase("nurse", "no"), "past", place=Phrase("airport", "the")),
         "Hiçbir hemşire havaalanına gelmedi."),
        (Scene("know", Phrase("sara"), object=Phrase("poem", "these")), "Sara bu şiirleri biliyor."),
        (Scene("be", Phrase("anna"), "past", category="singer", time="last_year"), "Anna geçen yıl şarkıcıydı."),
        (Scene("be", Phrase("peter"), category="thief", negated=True), "Peter bir hırsız değil."),
        (Scene("be", Phrase("cup", "these"), "future", quality="empty", time="next_month", negated=True),
         "Bu fincanlar gelecek ay boş olmayacak."),
        (Scene("be", Phrase("cup", "this"), "past", quality="empty", time="last_month", negated=True),
         "Bu fincan geçen ay boş değildi."),
        (Scene("be", Phrase("dog", "the"), "past", place=Phrase("berlin"), time="yesterday"),
         "Köpek dün Berlin'deydi."),
        (THERE, "Mutfakta dün iki eski anahtar vardı."),
    ],
)  # fmt: skip
def test_statements(scene: Scene, text: str) -> None:
    assert not problems(scene)
    assert language("tr").realize(scene).text == text


@pytest.mark.parametrize(
    ("scene", "role", "text"),
    [
        (GIVES, "subject", "Geçen hafta kim eski anahtarı Leo Smith'e gizlice verdi?"),
        (GIVES, "object", "Anna geçen hafta neyi Leo Smith'e gizlice verdi?"),
        (GIVES, "recipient", "Anna geçen hafta eski anahtarı kime gizlice verdi?"),
        (GIVES, "time", "Anna ne zaman eski anahtarı Leo Smith'e gizlice verdi?"),
        (READS, "object", "Yaşlı doktor kütüphanede ne okuyor?"),
        (READS, "object.count", "Yaşlı doktor kütüphanede kaç mektup okuyor?"),
        (Scene("be", Phrase("key", "the"), "past", place=Phrase("kitchen", "the"), time="yesterday"), "place",
         "Anahtar dün neredeydi?"),
        (THERE, "subject.count", "Dün mutfakta kaç eski anahtar vardı?"),
        (Scene("go", Phrase("leo"), goal=Phrase("rome"), companion=Phrase("nina")), "companion",
         "Leo kiminle Roma'ya gidiyor?"),
    ],
)  # fmt: skip
def test_questions(scene: Scene, role: str, text: str) -> None:
    assert not problems(scene)
    assert language("tr").question(scene, role).text == text


def test_one_word_links_to_all_that_its_suffixes_say() -> None:
    scene = Scene("go", Phrase("anna"), "future", goal=Phrase("istanbul"), negated=True)
    english, turkish = language("en").realize(scene), language("tr").realize(scene)
    assert english.text == "Anna will not go to Istanbul."
    assert turkish.text == "Anna İstanbul'a gitmeyecek."
    assert links(english, turkish) == [(0, 0), (1, 2), (2, 2), (3, 2), (4, 1), (5, 1), (6, 3)]
    assert [(word.lemma, word.name) for word in turkish.words] == [
        ("Anna", "B-PER"), ("İstanbul", "B-LOC"), ("git", "O"), (".", "O")
    ]  # fmt: skip
