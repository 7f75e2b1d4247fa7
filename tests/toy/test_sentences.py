"""Sentences of all toy languages worked out by hand: statements, questions, and gold annotation."""

from hashlib import blake2b

import pytest

from interlace.toy.languages import LANGUAGES, language, links
from interlace.toy.sampling import sample
from interlace.toy.scenes import answerable_roles, is_valid
from toy_scenes import parse

# language, scene as `parse` reads it > statement, or "-" for an invalid scene
STATEMENTS = """
en read the.old.doctor object=three.letter place=the.library > The old doctor reads three letters in the library.
en find anna past object=the.key place=berlin time=yesterday negated > Anna did not find the key in Berlin yesterday.
en give every.boy past object=a.apple recipient=maria.kaya time=last_week fronted
    > Last week every boy gave an apple to Maria Kaya.
en seek two.thief future object=the.key > Two thieves will look for the key.
en drink no.lawyer object=cold.milk > No lawyer drinks cold milk.
en be nina category=engineer negated > Nina is not an engineer.
de read the.old.doctor object=three.letter place=the.library > Der alte Arzt liest in der Bibliothek drei Briefe.
de find anna past object=the.key place=berlin time=yesterday negated fronted
    > Gestern fand Anna in Berlin den Schlüssel nicht.
de give a.young.teacher past object=a.red.apple recipient=this.student time=last_week
    > Eine junge Lehrerin gab diesem Studenten letzte Woche einen roten Apfel.
de call leo past object=nina negated > Leo rief Nina nicht an.
de call leo future object=nina > Leo wird Nina anrufen.
de drink leo object=cold.milk negated > Leo trinkt keine kalte Milch.
de be these.cup future quality=empty time=next_month > Diese Tassen werden nächsten Monat leer sein.
es read the.old.doctor object=three.letter place=the.library > El médico viejo lee tres cartas en la biblioteca.
es hear leo past object=the.eagle > Leo oyó al águila.
es give a.young.teacher past object=a.red.apple recipient=the.student time=last_week
    > Una maestra joven dio una manzana roja al estudiante la semana pasada.
es find anna past object=a.key place=cairo time=yesterday negated fronted
    > Ayer Anna no encontró ninguna llave en El Cairo.
es know every.guest past object=omar.kaya time=last_year > Cada invitado conocía a Omar Kaya el año pasado.
es be anna future category=singer time=next_year negated > Anna no será cantante el próximo año.
es be this.key place=the.garden negated > Esta llave no está en el jardín.
es be two.old.key past place=the.kitchen time=yesterday > Había dos llaves viejas en la cocina ayer.
hi read the.old.doctor object=three.letter place=the.library > बूढ़ा डॉक्टर पुस्तकालय में तीन चिट्ठियाँ पढ़ता है।
# ने: the verb agrees with the object, here feminine plural; the subject is oblique
hi buy a.young.boy past object=five.fresh.banana > एक जवान लड़के ने पाँच ताज़े केले ख़रीदे।
hi buy these.boy future object=many.new.book > ये लड़के कई नई किताबें ख़रीदेंगे।
# no ने with brought and forgot, which agree with their subject
hi bring the.queen past object=a.chair recipient=this.guest > रानी इस मेहमान के लिए एक कुर्सी लाई।
# को: persons and animals one knows of, nothing else
hi see leo past object=the.big.dog > लियो ने बड़े कुत्ते को देखा।
hi see leo past object=a.big.dog > लियो ने एक बड़ा कुत्ता देखा।
# dative subjects
hi find anna past object=the.key place=berlin time=yesterday negated fronted > बीते कल अन्ना को बर्लिन में चाबी नहीं मिली।
hi need anna past object=two.hammer time=last_monday > अन्ना को पिछले सोमवार को दो हथौड़े चाहिए थे।
# light words: owning their object, and agreeing
hi help these.girl past object=two.tired.boy manner=secretly > इन लड़कियों ने चुपके से दो थके लड़कों की मदद की।
hi follow the.cat object=a.mouse > बिल्ली एक चूहे का पीछा करती है।
hi visit peter future object=the.museum > पीटर संग्रहालय का दौरा करेगा।
# नहीं with कोई
hi lose no.thief past object=the.hat > किसी चोर ने टोपी नहीं खोई।
# goals and places
hi go three.king past goal=the.old.castle negated > तीन राजा पुराने क़िले नहीं गए।
# be
hi be the.rope quality=short > रस्सी कम लंबी है।
"""
# language, scene ? role asked for > question
QUESTIONS = """
en read the.old.doctor object=three.letter place=the.library ? subject > Who reads three letters in the library?
en read the.old.doctor object=three.letter place=the.library ? object.count
    > How many letters does the old doctor read in the library?
en be the.key place=the.kitchen ? place > Where is the key?
de read the.old.doctor object=three.letter place=the.library ? place > Wo liest der alte Arzt drei Briefe?
de arrive leo past place=the.harbor time=yesterday ? time > Wann kam Leo im Hafen an?
de help leo future object=two.thief ? object.count > Wie vielen Dieben wird Leo helfen?
es read the.old.doctor object=three.letter place=the.library ? subject > ¿Quién lee tres cartas en la biblioteca?
es read the.old.doctor object=three.letter place=the.library ? object.count
    > ¿Cuántas cartas lee el médico viejo en la biblioteca?
es follow many.tired.dog past object=these.white.cat ? object > ¿A qué animal siguieron muchos perros cansados?
es help leo future object=two.thief ? object.count > ¿A cuántos ladrones ayudará Leo?
es be two.old.key past place=the.kitchen time=yesterday ? subject.count
    > ¿Cuántas llaves viejas había en la cocina ayer?
hi read the.old.doctor object=three.letter place=the.library ? subject > कौन पुस्तकालय में तीन चिट्ठियाँ पढ़ता है?
hi read the.old.doctor object=three.letter place=the.library ? object.count
    > बूढ़ा डॉक्टर पुस्तकालय में कितनी चिट्ठियाँ पढ़ता है?
hi help these.girl past object=two.tired.boy manner=secretly ? subject > किसने चुपके से दो थके लड़कों की मदद की?
hi help these.girl past object=two.tired.boy manner=secretly ? object.count
    > इन लड़कियों ने चुपके से कितने थके लड़कों की मदद की?
hi find the.girl object=a.key ? subject > किसे एक चाबी मिलती है?
"""
FINDS = "find anna past object=a.key place=the.park negated"
LINKS = [
    # did-fand, not-keinen, find-fand, a-keinen, in-im, the-im
    (FINDS, "de", "Anna did not find a key in the park.", "Anna fand im Park keinen Schlüssel.",
     "0-0 1-1 2-4 3-1 4-4 5-5 6-2 7-2 8-3 9-6"),
    # did-मिली, not-नहीं, find-मिली, a-कोई, key-चाबी, in-में, park-पार्क
    (FINDS, "hi", "Anna did not find a key in the park.", "अन्ना को पार्क में कोई चाबी नहीं मिली।",
     "0-0 1-7 2-6 3-7 4-4 5-5 6-3 8-2 9-8"),
    # to-al, the-al
    ("go anna past goal=the.small.park", "es", "Anna went to the small park.", "Anna fue al parque pequeño.",
     "0-0 1-1 2-2 3-2 4-4 5-3 6-5"),
    # the article of a mass noun is linked to nothing
    ("be milk quality=cold", "es", "Milk is cold.", "La leche está fría.", "0-1 1-2 2-3 3-4"),
]  # fmt: skip


def rows(table):
    lines = table.strip().replace("\n    ", " ").splitlines()
    return [
        line.replace(" ? ", " > ").split(" > ") for line in lines if not line.startswith("#")
    ]


@pytest.mark.parametrize(("scene", "text"), rows(STATEMENTS))
def test_statements(scene, text):
    code, _, spec = scene.partition(" ")
    assert is_valid(parse(spec)) == (text != "-")
    assert text == "-" or language(code).realize(parse(spec)).text == text


@pytest.mark.parametrize(("scene", "role", "text"), rows(QUESTIONS))
def test_questions(scene, role, text):
    code, _, spec = scene.partition(" ")
    assert is_valid(parse(spec))
    assert language(code).realize(parse(spec), role).text == text


@pytest.mark.parametrize(("scene", "code", "source", "target", "pairs"), LINKS)
def test_links_with_english(scene, code, source, target, pairs):
    english, other = language("en").realize(parse(scene)), language(code).realize(parse(scene))
    assert (english.text, other.text) == (source, target)
    assert " ".join(f"{i}-{j}" for i, j in links(english, other)) == pairs


def test_en_gold():
    scene = parse("see anna.weber past object=a.dog place=new_delhi negated")
    sentence = language("en").realize(scene)
    words = sentence.words
    assert sentence.text[slice(*sentence.span("place"))] == "in New Delhi"
    assert (
        " ".join(word.form for word in words) == "Anna Weber did not see a dog in New Delhi ."
    )
    assert [word.head for word in words] == [5, 1, 5, 5, 0, 7, 5, 9, 5, 9, 5]
    assert [word.name for word in words] == ["B-PER", "I-PER", *"OOOOOO", "B-LOC", "I-LOC", "O"]
    tags = "PROPN PROPN AUX PART VERB DET NOUN ADP PROPN PROPN PUNCT"
    assert [word.upos for word in words] == tags.split()
    assert (words[2].roles, words[4].roles) == (("tense",), ("predicate",))


DIGESTS = {
    "de": "13fa85a491541f4c",
    "en": "be55db41f2abb6b7",
    "es": "60a0f6b057fb2588",
    "hi": "71f6a84197f49dad",
}  # fmt: skip


@pytest.mark.parametrize("code", LANGUAGES.names())
def test_grammar_is_unchanged(code):
    """Scores on the toy corpus depend on every sentence: a new digest is a new version of the language."""
    digest = blake2b(digest_size=8)
    for scene in sample(1500, seed=4):
        statement = language(code).realize(scene)
        questions = [language(code).realize(scene, role) for role in answerable_roles(scene)]
        digest.update(
            repr(
                (statement, questions, links(language("en").realize(scene), statement))
            ).encode()
        )
    assert digest.hexdigest() == DIGESTS[code]
