"""Hindi sentences worked out by hand: ergative and dative subjects, agreement, oblique forms, को, conjunct verbs."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, links, problems

READS = Scene("read", Phrase("doctor", "the", "old"), object=Phrase("letter", "three"), place=Phrase("library", "the"))
HELPS = Scene("help", Phrase("girl", "these"), "past", Phrase("boy", "two", "tired"), manner="secretly")


@pytest.mark.parametrize(
    ("scene", "text"),
    [
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
        (HELPS, "इन लड़कियों ने चुपके से दो थके लड़कों की मदद की।"),
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
)  # fmt: skip
def test_statements(scene: Scene, text: str) -> None:
    assert not problems(scene)
    assert language("hi").realize(scene).text == text


@pytest.mark.parametrize(
    ("scene", "role", "text"),
    [
        (READS, "subject", "कौन पुस्तकालय में तीन चिट्ठियाँ पढ़ता है?"),
        (READS, "object", "बूढ़ा डॉक्टर पुस्तकालय में क्या पढ़ता है?"),
        (READS, "place", "बूढ़ा डॉक्टर कहाँ तीन चिट्ठियाँ पढ़ता है?"),
        (READS, "object.count", "बूढ़ा डॉक्टर पुस्तकालय में कितनी चिट्ठियाँ पढ़ता है?"),
        (HELPS, "subject", "किसने चुपके से दो थके लड़कों की मदद की?"),
        (HELPS, "object", "इन लड़कियों ने चुपके से किसकी मदद की?"),
        (HELPS, "object.count", "इन लड़कियों ने चुपके से कितने थके लड़कों की मदद की?"),
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
)  # fmt: skip
def test_questions(scene: Scene, role: str, text: str) -> None:
    assert not problems(scene)
    assert language("hi").question(scene, role).text == text


def test_gold() -> None:
    words = language("hi").realize(HELPS).words
    assert [(word.form, word.lemma, word.upos) for word in words] == [
        ("इन", "यह", "DET"), ("लड़कियों", "लड़की", "NOUN"), ("ने", "ने", "ADP"), ("चुपके", "चुपके", "NOUN"),
        ("से", "से", "ADP"), ("दो", "दो", "NUM"), ("थके", "थका", "ADJ"), ("लड़कों", "लड़का", "NOUN"), ("की", "का", "ADP"),
        ("मदद", "मदद", "NOUN"), ("की", "कर", "VERB"), ("।", "।", "PUNCT"),
    ]  # fmt: skip
    assert [word.head for word in words] == [2, 11, 2, 11, 4, 8, 8, 10, 8, 11, 0, 11]
    assert [word.deprel for word in words[:3]] == ["det", "nsubj", "case"]
    assert [word.deprel for word in words[7:11]] == ["nmod", "case", "compound", "root"]


def test_links_with_english() -> None:
    scene = Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("park", "the"), negated=True)
    english, hindi = language("en").realize(scene), language("hi").realize(scene)
    assert english.text == "Anna did not find a key in the park."
    assert hindi.text == "अन्ना को पार्क में कोई चाबी नहीं मिली।"
    # Anna, did-मिली, not-नहीं, find-मिली, a-कोई, key-चाबी, in-में, park-पार्क
    assert links(english, hindi) == [(0, 0), (1, 7), (2, 6), (3, 7), (4, 4), (5, 5), (6, 3), (8, 2), (9, 8)]
