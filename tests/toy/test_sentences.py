"""Sentences of all toy languages worked out by hand: statements, questions, and gold annotation."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, links, problems
from interlace.toy.languages.tr import NOUN, VERB, conjugated, declined, declined_name, was

READS = Scene("read", Phrase("doctor", "the", "old"), object=Phrase("letter", "three"), place=Phrase("library", "the"))
ES_FOLLOWS = Scene("follow", Phrase("dog", "many", "tired"), "past", Phrase("cat", "these", "white"))
THERE = Scene("be", Phrase("key", "two", "old"), "past", place=Phrase("kitchen", "the"), time="yesterday")
TR_GIVES = Scene("give", Phrase("anna"), "past", Phrase("key", "the", "old"), Phrase("leo", surname="smith"),
              time="last_week", manner="secretly")  # fmt: skip
ZH_GIVES = Scene("give", Phrase("teacher", "a", "young"), "past", Phrase("apple", "two", "red"), Phrase("boy", "this"),
              time="last_week", fronted=True)  # fmt: skip
HI_HELPS = Scene("help", Phrase("girl", "these"), "past", Phrase("boy", "two", "tired"), manner="secretly")

STATEMENTS = {
    "en": [
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
    "de": [
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
    "es": [
        (READS, "El médico viejo lee tres cartas en la biblioteca."),
        (ES_FOLLOWS, "Muchos perros cansados siguieron a estos gatos blancos."),
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
    "tr": [
        (READS, "Yaşlı doktor kütüphanede üç mektup okuyor."),
        (TR_GIVES, "Anna geçen hafta eski anahtarı Leo Smith'e gizlice verdi."),
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
    "zh": [
        (READS, "老医生在图书馆里读三封信。"),
        (ZH_GIVES, "上周，一位年轻的教师给了这个男孩两个红色的苹果。"),
        # tenses, and their denials
        (Scene("laugh", Phrase("leo")), "利奥笑。"),
        (Scene("laugh", Phrase("leo"), "past"), "利奥笑了。"),
        (Scene("laugh", Phrase("leo"), "future"), "利奥会笑。"),
        (Scene("laugh", Phrase("leo"), negated=True), "利奥不笑。"),
        (Scene("laugh", Phrase("leo"), "past", negated=True), "利奥没有笑。"),
        (Scene("laugh", Phrase("leo"), "future", negated=True), "利奥不会笑。"),
        (Scene("laugh", Phrase("king", "no"), "past"), "没有国王笑过。"),
        # results are denied from within, verbs with an object of their own parted by 过
        (Scene("see", Phrase("leo"), object=Phrase("horse", "these"), negated=True), "利奥看不见这些马。"),
        (Scene("see", Phrase("leo"), "past", Phrase("horse", "these"), negated=True), "利奥没有看见这些马。"),
        (Scene("sleep", Phrase("king", "no"), "past"), "没有国王睡过觉。"),
        (Scene("sleep", Phrase("king", "the"), "past"), "国王睡觉了。"),
        # states take no 了: their time says when
        (Scene("love", Phrase("leo"), "past", Phrase("nina"), time="last_year"), "利奥去年爱尼娜。"),
        (Scene("love", Phrase("leo"), "past", Phrase("nina"), time="last_year", negated=True), "利奥去年不爱尼娜。"),
        # verbs and adjectives by what they are said of
        (Scene("visit", Phrase("peter"), "past", Phrase("nina")), "彼得拜访了尼娜。"),
        (Scene("visit", Phrase("peter"), "past", Phrase("museum", "a", "old")), "彼得参观了一座旧博物馆。"),
        (Scene("wear", Phrase("peter"), object=Phrase("hat", "this")), "彼得戴这顶帽子。"),
        (Scene("play", Phrase("peter"), object=Phrase("violin", "a", "small")), "彼得演奏一把小的小提琴。"),
        (Scene("buy", Phrase("leo"), "past", Phrase("car", "a", "expensive"), negated=True),
         "利奥没有买任何昂贵的汽车。"),
        # every, with whom, to whom, where to
        (Scene("dance", Phrase("soldier", "every"), "future", companion=Phrase("queen", "the"), manner="happily"),
         "每名士兵都会和女王一起高兴地跳舞。"),
        (Scene("send", Phrase("maria", surname="weber"), "past", Phrase("letter", "many"), Phrase("nurse", "the")),
         "玛丽亚·韦伯给护士寄了许多信。"),
        (Scene("call", Phrase("leo"), "past", Phrase("nina")), "利奥给尼娜打电话了。"),
        (Scene("travel", Phrase("sailor", "some"), "past", goal=Phrase("lake", "the")), "一些水手到湖边旅行了。"),
        (Scene("return", Phrase("leo"), "past", goal=Phrase("village", "the")), "利奥回到了村庄。"),
        (Scene("arrive", Phrase("leo"), "past", place=Phrase("harbor", "the")), "利奥到达了港口。"),
        # be
        (Scene("be", Phrase("peter"), "past", category="chef", negated=True, time="last_year"), "彼得去年不是厨师。"),
        (Scene("be", Phrase("cup", "these"), "future", quality="empty", time="next_month"), "这些杯子下个月会是空的。"),
        (Scene("be", Phrase("soup"), quality="cold"), "汤很冷。"),
        (Scene("be", Phrase("soup"), quality="cold", negated=True), "汤不冷。"),
        (Scene("be", Phrase("key", "no"), quality="new"), "没有钥匙是新的。"),
        (Scene("be", Phrase("key", "the"), place=Phrase("street", "the"), negated=True), "钥匙不在街道上。"),
    ],
    "hi": [
        (READS, "बूढ़ा डॉक्टर पुस्तकालय में तीन चिट्ठियाँ पढ़ता है।"),
        # ने: the verb agrees with the object, here feminine plural; the subject is oblique
        (Scene("buy", Phrase("boy", "a", "young"), "past", Phrase("banana", "five", "fresh")),
         "एक जवान लड़के ने पाँच ताज़े केले ख़रीदे।"),
        (Scene("buy", Phrase("boy", "this"), "past", Phrase("book", "many", "new")), "इस लड़के ने कई नई किताबें ख़रीदीं।"),
        (Scene("buy", Phrase("boy", "these"), "future", Phrase("book", "many", "new")), "ये लड़के कई नई किताबें ख़रीदेंगे।"),
        # no ने with brought and forgot, which agree with their subject
        (Scene("bring", Phrase("queen", "the"), "past", Phrase("chair", "a"), recipient=Phrase("guest", "this")),
         "रानी इस मेहमान के लिए एक कुर्सी लाई।"),
        (Scene("forget", Phrase("nurse", "some"), "past", Phrase("coat", "the")), "कुछ नर्सें कोट भूलीं।"),
        # को: persons and animals one knows of, nothing else
        (Scene("see", Phrase("leo"), "past", Phrase("dog", "the", "big")), "लियो ने बड़े कुत्ते को देखा।"),
        (Scene("see", Phrase("leo"), "past", Phrase("dog", "a", "big")), "लियो ने एक बड़ा कुत्ता देखा।"),
        (Scene("see", Phrase("leo"), "past", Phrase("girl", "a")), "लियो ने एक लड़की को देखा।"),
        (Scene("catch", Phrase("leo"), "past", Phrase("fish", "the")), "लियो ने मछली पकड़ी।"),
        # dative subjects
        (Scene("find", Phrase("anna"), "past", Phrase("key", "the"), place=Phrase("berlin"), time="yesterday",
               negated=True, fronted=True), "बीते कल अन्ना को बर्लिन में चाबी नहीं मिली।"),
        (Scene("need", Phrase("anna"), "past", Phrase("hammer", "two"), time="last_monday"),
         "अन्ना को पिछले सोमवार को दो हथौड़े चाहिए थे।"),
        (Scene("need", Phrase("anna"), "present", Phrase("hammer", "two")), "अन्ना को दो हथौड़े चाहिए।"),
        # light words: owning their object, and agreeing
        (HI_HELPS, "इन लड़कियों ने चुपके से दो थके लड़कों की मदद की।"),
        (Scene("travel", Phrase("peter"), "past", goal=Phrase("paris")), "पीटर ने पेरिस की यात्रा की।"),
        (Scene("close", Phrase("peter"), "past", Phrase("window", "the")), "पीटर ने खिड़की बंद की।"),
        (Scene("follow", Phrase("cat", "the"), object=Phrase("mouse", "a")), "बिल्ली एक चूहे का पीछा करती है।"),
        (Scene("visit", Phrase("peter"), "future", Phrase("nina")), "पीटर नीना से मुलाक़ात करेगा।"),
        (Scene("visit", Phrase("peter"), "future", Phrase("museum", "the")), "पीटर संग्रहालय का दौरा करेगा।"),
        # states have an imperfect past
        (Scene("know", Phrase("nina"), "past", Phrase("teacher", "the"), time="last_year"),
         "नीना पिछले साल अध्यापिका को जानती थी।"),
        # नहीं with कोई
        (Scene("lose", Phrase("thief", "no"), "past", Phrase("hat", "the")),
         "किसी चोर ने टोपी नहीं खोई।"),
        (Scene("lose", Phrase("thief", "the"), "past", Phrase("hat", "a"), negated=True), "चोर ने कोई टोपी नहीं खोई।"),
        # goals and places
        (Scene("go", Phrase("king", "three"), "past", goal=Phrase("castle", "the", "old"), negated=True),
         "तीन राजा पुराने क़िले नहीं गए।"),
        (Scene("go", Phrase("maria", surname="kaya"), goal=Phrase("river", "the")), "मारिया काया नदी पर जाती है।"),
        (Scene("wait", Phrase("sara"), "past", companion=Phrase("policeman", "the"), place=Phrase("station", "the")),
         "सारा ने पुलिसवाले के साथ स्टेशन पर इंतज़ार किया।"),
        # be
        (Scene("be", Phrase("peter"), category="chef", negated=True), "पीटर बावर्ची नहीं है।"),
        (Scene("be", Phrase("bottle", "these"), "future", quality="empty", time="next_month"),
         "ये बोतलें अगले महीने ख़ाली होंगी।"),
        (Scene("be", Phrase("rope", "the"), quality="short"), "रस्सी कम लंबी है।"),
        (Scene("be", Phrase("cup", "this"), "past", place=Phrase("new_delhi"), time="last_winter"),
         "यह प्याला पिछली सर्दियों में नई दिल्ली में था।"),
    ],
}  # fmt: skip

QUESTIONS = {
    "es": [
        (READS, "subject", "¿Quién lee tres cartas en la biblioteca?"),
        (READS, "place", "¿Dónde lee el médico viejo tres cartas?"),
        (READS, "object.count", "¿Cuántas cartas lee el médico viejo en la biblioteca?"),
        (ES_FOLLOWS, "object", "¿A qué animal siguieron muchos perros cansados?"),
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
    "tr": [
        (TR_GIVES, "subject", "Geçen hafta kim eski anahtarı Leo Smith'e gizlice verdi?"),
        (TR_GIVES, "object", "Anna geçen hafta neyi Leo Smith'e gizlice verdi?"),
        (TR_GIVES, "recipient", "Anna geçen hafta eski anahtarı kime gizlice verdi?"),
        (TR_GIVES, "time", "Anna ne zaman eski anahtarı Leo Smith'e gizlice verdi?"),
        (READS, "object", "Yaşlı doktor kütüphanede ne okuyor?"),
        (READS, "object.count", "Yaşlı doktor kütüphanede kaç mektup okuyor?"),
        (Scene("be", Phrase("key", "the"), "past", place=Phrase("kitchen", "the"), time="yesterday"), "place",
         "Anahtar dün neredeydi?"),
        (THERE, "subject.count", "Dün mutfakta kaç eski anahtar vardı?"),
        (Scene("go", Phrase("leo"), goal=Phrase("rome"), companion=Phrase("nina")), "companion",
         "Leo kiminle Roma'ya gidiyor?"),
    ],
    "zh": [
        (READS, "subject", "谁在图书馆里读三封信？"),
        (READS, "object", "老医生在图书馆里读什么？"),
        (READS, "object.count", "老医生在图书馆里读几封信？"),
        (READS, "place", "老医生在哪里读三封信？"),
        (ZH_GIVES, "recipient", "一位年轻的教师上周给了谁两个红色的苹果？"),
        (ZH_GIVES, "time", "一位年轻的教师什么时候给了这个男孩两个红色的苹果？"),
        (Scene("travel", Phrase("leo"), "past", goal=Phrase("rome"), companion=Phrase("anna")), "goal",
         "利奥和安娜一起到哪里旅行了？"),
        (Scene("travel", Phrase("leo"), "past", goal=Phrase("rome"), companion=Phrase("anna")), "companion",
         "利奥和谁一起到罗马旅行了？"),
        (Scene("call", Phrase("leo"), "future", Phrase("nina")), "object", "利奥会给谁打电话？"),
        (Scene("be", Phrase("key", "the"), place=Phrase("rome")), "place", "钥匙在哪里？"),
        (Scene("laugh", Phrase("king", "every"), "past", time="yesterday"), "subject", "谁昨天笑了？"),
    ],
    "hi": [
        (READS, "subject", "कौन पुस्तकालय में तीन चिट्ठियाँ पढ़ता है?"),
        (READS, "object", "बूढ़ा डॉक्टर पुस्तकालय में क्या पढ़ता है?"),
        (READS, "place", "बूढ़ा डॉक्टर कहाँ तीन चिट्ठियाँ पढ़ता है?"),
        (READS, "object.count", "बूढ़ा डॉक्टर पुस्तकालय में कितनी चिट्ठियाँ पढ़ता है?"),
        (HI_HELPS, "subject", "किसने चुपके से दो थके लड़कों की मदद की?"),
        (HI_HELPS, "object", "इन लड़कियों ने चुपके से किसकी मदद की?"),
        (HI_HELPS, "object.count", "इन लड़कियों ने चुपके से कितने थके लड़कों की मदद की?"),
        (Scene("find", Phrase("girl", "the"), object=Phrase("key", "a")), "subject", "किसे एक चाबी मिलती है?"),
        (Scene("find", Phrase("girl", "the"), "past", Phrase("key", "a")), "object", "लड़की को क्या मिला?"),
        (Scene("wash", Phrase("girl", "the"), "past", Phrase("dog", "the")), "object", "लड़की ने क्या धोया?"),
        (Scene("bring", Phrase("leo"), "past", Phrase("cake", "a"), Phrase("anna")), "recipient",
         "लियो किसके लिए एक केक लाया?"),
        (Scene("travel", Phrase("leo"), "past", goal=Phrase("rome"), companion=Phrase("anna")), "goal",
         "लियो ने अन्ना के साथ कहाँ की यात्रा की?"),
        (Scene("travel", Phrase("leo"), "past", goal=Phrase("rome"), companion=Phrase("anna")), "companion",
         "लियो ने किसके साथ रोम की यात्रा की?"),
        (Scene("be", Phrase("key", "the"), place=Phrase("rome")), "place", "चाबी कहाँ है?"),
        (Scene("arrive", Phrase("leo"), "past", place=Phrase("harbor", "the"), time="yesterday", fronted=True), "time",
         "लियो कब बंदरगाह पहुँचा?"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("code", "scene", "text"), [(code, *row) for code, rows in STATEMENTS.items() for row in rows])
def test_statements(code: str, scene: Scene, text: str | None) -> None:
    assert bool(problems(scene)) == (text is None)
    assert text is None or language(code).realize(scene).text == text


@pytest.mark.parametrize(
    ("code", "scene", "role", "text"), [(code, *row) for code, rows in QUESTIONS.items() for row in rows]
)
def test_questions(code: str, scene: Scene, role: str, text: str) -> None:
    assert not problems(scene)
    assert language(code).question(scene, role).text == text


def test_en_questions() -> None:
    question = language("en").question
    assert question(READS, "subject").text == "Who reads three letters in the library?"
    assert question(READS, "object").text == "What does the old doctor read in the library?"
    assert question(READS, "object.count").text == "How many letters does the old doctor read in the library?"
    key = Scene("be", Phrase("key", "the"), place=Phrase("kitchen", "the"))
    assert question(key, "place").text == "Where is the key?"
    statement = language("en").realize(key)
    start, end = statement.span("place")
    assert statement.text[start:end] == "in the kitchen"


def test_en_gold() -> None:
    scene = Scene(
        "see", Phrase("anna", surname="weber"), "past", Phrase("dog", "a"), place=Phrase("new_delhi"), negated=True
    )
    words = language("en").realize(scene).words
    assert " ".join(word.form for word in words) == "Anna Weber did not see a dog in New Delhi ."
    assert [word.head for word in words] == [5, 1, 5, 5, 0, 7, 5, 9, 5, 9, 5]
    assert [word.name for word in words] == ["B-PER", "I-PER", *"OOOOOO", "B-LOC", "I-LOC", "O"]
    assert " ".join(word.upos for word in words) == "PROPN PROPN AUX PART VERB DET NOUN ADP PROPN PROPN PUNCT"
    assert words[2].roles == ("tense",)
    assert words[4].roles == ("predicate",)


def test_de_questions() -> None:
    question = language("de").question
    assert question(READS, "subject").text == "Wer liest in der Bibliothek drei Briefe?"
    assert question(READS, "place").text == "Wo liest der alte Arzt drei Briefe?"
    assert question(READS, "object.count").text == "Wie viele Briefe liest der alte Arzt in der Bibliothek?"
    goes = Scene("arrive", Phrase("leo"), "past", place=Phrase("harbor", "the"), time="yesterday")
    assert question(goes, "time").text == "Wann kam Leo im Hafen an?"
    helps = Scene("help", Phrase("leo"), "future", Phrase("thief", "two"))
    assert question(helps, "object").text == "Wem wird Leo helfen?"
    assert question(helps, "object.count").text == "Wie vielen Dieben wird Leo helfen?"


def test_de_links_with_english() -> None:
    scene = Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("park", "the"), negated=True)
    english, german = language("en").realize(scene), language("de").realize(scene)
    assert english.text == "Anna did not find a key in the park."
    assert german.text == "Anna fand im Park keinen Schlüssel."
    # did-fand, not-keinen, find-fand, a-keinen, in-im, the-im
    assert links(english, german) == [(0, 0), (1, 1), (2, 4), (3, 1), (4, 4), (5, 5), (6, 2), (7, 2), (8, 3), (9, 6)]


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


def test_one_word_links_to_all_that_its_suffixes_say() -> None:
    scene = Scene("go", Phrase("anna"), "future", goal=Phrase("istanbul"), negated=True)
    english, turkish = language("en").realize(scene), language("tr").realize(scene)
    assert english.text == "Anna will not go to Istanbul."
    assert turkish.text == "Anna İstanbul'a gitmeyecek."
    assert links(english, turkish) == [(0, 0), (1, 2), (2, 2), (3, 2), (4, 1), (5, 1), (6, 3)]
    assert [(word.lemma, word.name) for word in turkish.words] == [
        ("Anna", "B-PER"), ("İstanbul", "B-LOC"), ("git", "O"), (".", "O")
    ]  # fmt: skip


def test_zh_gold() -> None:
    words = language("zh").realize(ZH_GIVES).words
    assert [word.form for word in words] == (
        "上 周 ， 一 位 年轻 的 教师 给 了 这 个 男孩 两 个 红色 的 苹果 。".split()
    )
    assert [word.upos for word in words] == (
        "DET NOUN PUNCT NUM NOUN ADJ PART NOUN VERB AUX DET NOUN NOUN NUM NOUN ADJ PART NOUN PUNCT".split()
    )
    assert [word.head for word in words] == [2, 9, 9, 8, 4, 8, 6, 9, 0, 9, 13, 11, 9, 18, 14, 18, 16, 9, 9]
    assert [word.deprel for word in words[3:7]] == ["nummod", "clf", "amod", "mark:rel"]


def test_a_name_of_two_parts_is_one_name() -> None:
    words = language("zh").realize(Scene("laugh", Phrase("anna", surname="chen"))).words
    assert [(word.form, word.name) for word in words[:4]] == [
        ("安娜", "B-PER"), ("·", "I-PER"), ("陈", "I-PER"), ("笑", "O"),
    ]  # fmt: skip


def test_a_comma_tells_last_week_from_last_friday() -> None:
    week = Scene("run", Phrase("pupil", "five"), "past", goal=Phrase("park", "the"), time="last_week", fronted=True)
    assert language("zh").realize(week).text == "上周，五名小学生跑到了公园。"
    friday = week._replace(subject=Phrase("pupil", "the"), time="last_friday")
    assert language("zh").realize(friday).text == "上周五，小学生跑到了公园。"


def test_zh_links_with_english() -> None:
    scene = Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("park", "the"), negated=True)
    english, chinese = language("en").realize(scene), language("zh").realize(scene)
    assert english.text == "Anna did not find a key in the park."
    assert chinese.text == "安娜没有在公园里找到任何钥匙。"
    # Anna, did-没有, not-没有, find-找到, a-任何, key-钥匙, in-在 and in-里, park-公园
    assert links(english, chinese) == [
        (0, 0), (1, 1), (2, 1), (3, 5), (4, 6), (5, 7), (6, 2), (6, 4), (8, 3), (9, 8),
    ]  # fmt: skip


def test_hi_gold() -> None:
    words = language("hi").realize(HI_HELPS).words
    assert [(word.form, word.lemma, word.upos) for word in words] == [
        ("इन", "यह", "DET"), ("लड़कियों", "लड़की", "NOUN"), ("ने", "ने", "ADP"), ("चुपके", "चुपके", "NOUN"),
        ("से", "से", "ADP"), ("दो", "दो", "NUM"), ("थके", "थका", "ADJ"), ("लड़कों", "लड़का", "NOUN"), ("की", "का", "ADP"),
        ("मदद", "मदद", "NOUN"), ("की", "कर", "VERB"), ("।", "।", "PUNCT"),
    ]  # fmt: skip
    assert [word.head for word in words] == [2, 11, 2, 11, 4, 8, 8, 10, 8, 11, 0, 11]
    assert [word.deprel for word in words[:3]] == ["det", "nsubj", "case"]
    assert [word.deprel for word in words[7:11]] == ["nmod", "case", "compound", "root"]


def test_hi_links_with_english() -> None:
    scene = Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("park", "the"), negated=True)
    english, hindi = language("en").realize(scene), language("hi").realize(scene)
    assert english.text == "Anna did not find a key in the park."
    assert hindi.text == "अन्ना को पार्क में कोई चाबी नहीं मिली।"
    # Anna, did-मिली, not-नहीं, find-मिली, a-कोई, key-चाबी, in-में, park-पार्क
    assert links(english, hindi) == [(0, 0), (1, 7), (2, 6), (3, 7), (4, 4), (5, 5), (6, 3), (8, 2), (9, 8)]
