"""Sentences of all toy languages worked out by hand: statements, questions, and gold annotation."""

import pytest

from interlace.toy import Phrase, Scene, language, links, problems
from interlace.toy.concepts import DETERMINERS, GIVEN
from interlace.toy.languages.tr import NOUN, VERB, conjugated, declined, declined_name, was
from interlace.toy.scenes import PARTICIPANTS, TENSES

# language, scene as `parse` reads it > statement, or "-" for an invalid scene
STATEMENTS = """
en read the.old.doctor object=three.letter place=the.library > The old doctor reads three letters in the library.
en find anna past object=the.key place=berlin time=yesterday negated > Anna did not find the key in Berlin yesterday.
en give every.boy past object=a.apple recipient=maria.kaya time=last_week fronted
    > Last week every boy gave an apple to Maria Kaya.
en seek many.wolf future object=a.sheep > -
en seek two.thief future object=the.key > Two thieves will look for the key.
en drink no.lawyer object=cold.milk > No lawyer drinks cold milk.
en be omar category=engineer > -
en be nina category=engineer negated > Nina is not an engineer.
en be these.cup past quality=empty time=last_friday > These cups were empty last Friday.
en go leo past goal=new_delhi companion=sara > Leo went to New Delhi with Sara.
de read the.old.doctor object=three.letter place=the.library > Der alte Arzt liest in der Bibliothek drei Briefe.
de find anna past object=the.key place=berlin time=yesterday negated fronted
    > Gestern fand Anna in Berlin den Schlüssel nicht.
de give a.young.teacher past object=a.red.apple recipient=this.student time=last_week
    > Eine junge Lehrerin gab diesem Studenten letzte Woche einen roten Apfel.
de follow many.old.dog object=these.boy > Viele alte Hunde folgen diesen Jungen.
de help every.man object=two.tired.woman > Jeder Mann hilft zwei müden Frauen.
de call leo past object=nina negated > Leo rief Nina nicht an.
de call leo future object=nina > Leo wird Nina anrufen.
de buy leo past object=a.expensive.car negated > Leo kaufte kein teures Auto.
de drink leo object=cold.milk negated > Leo trinkt keine kalte Milch.
de return three.king past goal=the.old.castle negated > Drei Könige kehrten nicht ins alte Schloss zurück.
de wait sara past companion=the.policeman place=the.station > Sara wartete mit dem Polizisten am Bahnhof.
de be peter category=chef negated > Peter ist kein Koch.
de be these.cup future quality=empty time=next_month > Diese Tassen werden nächsten Monat leer sein.
de travel no.sailor goal=the.island > Kein Matrose reist auf die Insel.
es read the.old.doctor object=three.letter place=the.library > El médico viejo lee tres cartas en la biblioteca.
es follow many.tired.dog past object=these.white.cat > Muchos perros cansados siguieron a estos gatos blancos.
es hear leo past object=a.dangerous.eagle > Leo oyó un águila peligrosa.
es hear leo past object=the.eagle > Leo oyó al águila.
es buy leo future object=the.cow > Leo comprará la vaca.
es give a.young.teacher past object=a.red.apple recipient=the.student time=last_week
    > Una maestra joven dio una manzana roja al estudiante la semana pasada.
es find anna past object=a.key place=cairo time=yesterday negated fronted
    > Ayer Anna no encontró ninguna llave en El Cairo.
es call nina past object=a.king negated > Nina no llamó a ningún rey.
es return three.king past goal=cairo > Tres reyes volvieron a El Cairo.
es arrive no.nurse future place=the.harbor > Ninguna enfermera llegará al puerto.
es know every.guest past object=omar.kaya time=last_year > Cada invitado conocía a Omar Kaya el año pasado.
es drink sara object=cold.water companion=the.policeman manner=slowly > Sara bebe agua fría lentamente con el policía.
es be water past quality=hot time=last_friday > El agua estaba caliente el viernes pasado.
es be some.pear quality=green > Algunas peras son verdes.
es be anna future category=singer time=next_year negated > Anna no será cantante el próximo año.
es be peter category=thief > Peter es un ladrón.
es be this.key place=the.garden negated > Esta llave no está en el jardín.
es be two.old.key past place=the.kitchen time=yesterday > Había dos llaves viejas en la cocina ayer.
tr read the.old.doctor object=three.letter place=the.library > Yaşlı doktor kütüphanede üç mektup okuyor.
tr give anna past object=the.old.key recipient=leo.smith time=last_week manner=secretly
    > Anna geçen hafta eski anahtarı Leo Smith'e gizlice verdi.
tr give a.young.teacher past object=a.red.apple recipient=this.student
    > Genç bir öğretmen bu öğrenciye kırmızı bir elma verdi.
tr find anna past object=a.key place=istanbul time=yesterday negated fronted
    > Dün Anna İstanbul'da hiçbir anahtar bulmadı.
tr follow many.old.dog object=these.boy > Birçok yaşlı köpek bu oğlanları takip ediyor.
tr help every.man object=two.tired.woman > Her adam iki yorgun kadına yardım ediyor.
tr return two.king future goal=new_delhi companion=laura > İki kral Laura'yla Yeni Delhi'ye dönecek.
tr drink the.pupil object=juice negated > Talebe meyve suyu içmiyor.
tr arrive no.nurse past place=the.airport > Hiçbir hemşire havaalanına gelmedi.
tr know sara object=these.poem > Sara bu şiirleri biliyor.
tr be anna past category=singer time=last_year > Anna geçen yıl şarkıcıydı.
tr be peter category=thief negated > Peter bir hırsız değil.
tr be these.cup future quality=empty time=next_month negated > Bu fincanlar gelecek ay boş olmayacak.
tr be this.cup past quality=empty time=last_month negated > Bu fincan geçen ay boş değildi.
tr be the.dog past place=berlin time=yesterday > Köpek dün Berlin'deydi.
tr be two.old.key past place=the.kitchen time=yesterday > Mutfakta dün iki eski anahtar vardı.
zh read the.old.doctor object=three.letter place=the.library > 老医生在图书馆里读三封信。
zh give a.young.teacher past object=two.red.apple recipient=this.boy time=last_week fronted
    > 上周，一位年轻的教师给了这个男孩两个红色的苹果。
# tenses, and their denials
zh laugh leo > 利奥笑。
zh laugh leo past > 利奥笑了。
zh laugh leo future > 利奥会笑。
zh laugh leo negated > 利奥不笑。
zh laugh leo past negated > 利奥没有笑。
zh laugh leo future negated > 利奥不会笑。
zh laugh no.king past > 没有国王笑过。
# results are denied from within, verbs with an object of their own parted by 过
zh see leo object=these.horse negated > 利奥看不见这些马。
zh see leo past object=these.horse negated > 利奥没有看见这些马。
zh sleep no.king past > 没有国王睡过觉。
zh sleep the.king past > 国王睡觉了。
# states take no 了: their time says when
zh love leo past object=nina time=last_year > 利奥去年爱尼娜。
zh love leo past object=nina time=last_year negated > 利奥去年不爱尼娜。
# verbs and adjectives by what they are said of
zh visit peter past object=nina > 彼得拜访了尼娜。
zh visit peter past object=a.old.museum > 彼得参观了一座旧博物馆。
zh wear peter object=this.hat > 彼得戴这顶帽子。
zh play peter object=a.small.violin > 彼得演奏一把小的小提琴。
zh buy leo past object=a.expensive.car negated > 利奥没有买任何昂贵的汽车。
# every, with whom, to whom, where to
zh dance every.soldier future companion=the.queen manner=happily > 每名士兵都会和女王一起高兴地跳舞。
zh send maria.weber past object=many.letter recipient=the.nurse > 玛丽亚·韦伯给护士寄了许多信。
zh call leo past object=nina > 利奥给尼娜打电话了。
zh travel some.sailor past goal=the.lake > 一些水手到湖边旅行了。
zh return leo past goal=the.village > 利奥回到了村庄。
zh arrive leo past place=the.harbor > 利奥到达了港口。
# be
zh be peter past category=chef time=last_year negated > 彼得去年不是厨师。
zh be these.cup future quality=empty time=next_month > 这些杯子下个月会是空的。
zh be soup quality=cold > 汤很冷。
zh be soup quality=cold negated > 汤不冷。
zh be no.key quality=new > 没有钥匙是新的。
zh be the.key place=the.street negated > 钥匙不在街道上。
hi read the.old.doctor object=three.letter place=the.library > बूढ़ा डॉक्टर पुस्तकालय में तीन चिट्ठियाँ पढ़ता है।
# ने: the verb agrees with the object, here feminine plural; the subject is oblique
hi buy a.young.boy past object=five.fresh.banana > एक जवान लड़के ने पाँच ताज़े केले ख़रीदे।
hi buy this.boy past object=many.new.book > इस लड़के ने कई नई किताबें ख़रीदीं।
hi buy these.boy future object=many.new.book > ये लड़के कई नई किताबें ख़रीदेंगे।
# no ने with brought and forgot, which agree with their subject
hi bring the.queen past object=a.chair recipient=this.guest > रानी इस मेहमान के लिए एक कुर्सी लाई।
hi forget some.nurse past object=the.coat > कुछ नर्सें कोट भूलीं।
# को: persons and animals one knows of, nothing else
hi see leo past object=the.big.dog > लियो ने बड़े कुत्ते को देखा।
hi see leo past object=a.big.dog > लियो ने एक बड़ा कुत्ता देखा।
hi see leo past object=a.girl > लियो ने एक लड़की को देखा।
hi catch leo past object=the.fish > लियो ने मछली पकड़ी।
# dative subjects
hi find anna past object=the.key place=berlin time=yesterday negated fronted > बीते कल अन्ना को बर्लिन में चाबी नहीं मिली।
hi need anna past object=two.hammer time=last_monday > अन्ना को पिछले सोमवार को दो हथौड़े चाहिए थे।
hi need anna object=two.hammer > अन्ना को दो हथौड़े चाहिए।
# light words: owning their object, and agreeing
hi help these.girl past object=two.tired.boy manner=secretly > इन लड़कियों ने चुपके से दो थके लड़कों की मदद की।
hi travel peter past goal=paris > पीटर ने पेरिस की यात्रा की।
hi close peter past object=the.window > पीटर ने खिड़की बंद की।
hi follow the.cat object=a.mouse > बिल्ली एक चूहे का पीछा करती है।
hi visit peter future object=nina > पीटर नीना से मुलाक़ात करेगा।
hi visit peter future object=the.museum > पीटर संग्रहालय का दौरा करेगा।
# states have an imperfect past
hi know nina past object=the.teacher time=last_year > नीना पिछले साल अध्यापिका को जानती थी।
# नहीं with कोई
hi lose no.thief past object=the.hat > किसी चोर ने टोपी नहीं खोई।
hi lose the.thief past object=a.hat negated > चोर ने कोई टोपी नहीं खोई।
# goals and places
hi go three.king past goal=the.old.castle negated > तीन राजा पुराने क़िले नहीं गए।
hi go maria.kaya goal=the.river > मारिया काया नदी पर जाती है।
hi wait sara past companion=the.policeman place=the.station > सारा ने पुलिसवाले के साथ स्टेशन पर इंतज़ार किया।
# be
hi be peter category=chef negated > पीटर बावर्ची नहीं है।
hi be these.bottle future quality=empty time=next_month > ये बोतलें अगले महीने ख़ाली होंगी।
hi be the.rope quality=short > रस्सी कम लंबी है।
hi be this.cup past place=new_delhi time=last_winter > यह प्याला पिछली सर्दियों में नई दिल्ली में था।
# the comma keeps last week from last Friday
zh run five.pupil past goal=the.park time=last_week fronted > 上周，五名小学生跑到了公园。
zh run the.pupil past goal=the.park time=last_friday fronted > 上周五，小学生跑到了公园。
"""
# language, scene ? role asked for > question
QUESTIONS = """
en read the.old.doctor object=three.letter place=the.library ? subject > Who reads three letters in the library?
en read the.old.doctor object=three.letter place=the.library ? object > What does the old doctor read in the library?
en read the.old.doctor object=three.letter place=the.library ? object.count
    > How many letters does the old doctor read in the library?
en be the.key place=the.kitchen ? place > Where is the key?
de read the.old.doctor object=three.letter place=the.library ? subject > Wer liest in der Bibliothek drei Briefe?
de read the.old.doctor object=three.letter place=the.library ? place > Wo liest der alte Arzt drei Briefe?
de read the.old.doctor object=three.letter place=the.library ? object.count
    > Wie viele Briefe liest der alte Arzt in der Bibliothek?
de arrive leo past place=the.harbor time=yesterday ? time > Wann kam Leo im Hafen an?
de help leo future object=two.thief ? object > Wem wird Leo helfen?
de help leo future object=two.thief ? object.count > Wie vielen Dieben wird Leo helfen?
es read the.old.doctor object=three.letter place=the.library ? subject > ¿Quién lee tres cartas en la biblioteca?
es read the.old.doctor object=three.letter place=the.library ? place > ¿Dónde lee el médico viejo tres cartas?
es read the.old.doctor object=three.letter place=the.library ? object.count
    > ¿Cuántas cartas lee el médico viejo en la biblioteca?
es follow many.tired.dog past object=these.white.cat ? object > ¿A qué animal siguieron muchos perros cansados?
es help leo future object=two.thief ? object > ¿A quién ayudará Leo?
es help leo future object=two.thief ? object.count > ¿A cuántos ladrones ayudará Leo?
es go leo goal=the.park ? goal > ¿Adónde va Leo?
es be soup past quality=cold time=yesterday ? time > ¿Cuándo estaba fría la sopa?
es be three.nurse quality=rich ? subject.count > ¿Cuántas enfermeras son ricas?
es be two.old.key past place=the.kitchen time=yesterday ? subject.count
    > ¿Cuántas llaves viejas había en la cocina ayer?
es be two.old.key past place=the.kitchen time=yesterday ? place > ¿Dónde había dos llaves viejas ayer?
es be a.queen place=the.castle ? subject > ¿Quién está en el castillo?
tr give anna past object=the.old.key recipient=leo.smith time=last_week manner=secretly ? subject
    > Geçen hafta kim eski anahtarı Leo Smith'e gizlice verdi?
tr give anna past object=the.old.key recipient=leo.smith time=last_week manner=secretly ? object
    > Anna geçen hafta neyi Leo Smith'e gizlice verdi?
tr give anna past object=the.old.key recipient=leo.smith time=last_week manner=secretly ? recipient
    > Anna geçen hafta eski anahtarı kime gizlice verdi?
tr give anna past object=the.old.key recipient=leo.smith time=last_week manner=secretly ? time
    > Anna ne zaman eski anahtarı Leo Smith'e gizlice verdi?
tr read the.old.doctor object=three.letter place=the.library ? object > Yaşlı doktor kütüphanede ne okuyor?
tr read the.old.doctor object=three.letter place=the.library ? object.count
    > Yaşlı doktor kütüphanede kaç mektup okuyor?
tr be the.key past place=the.kitchen time=yesterday ? place > Anahtar dün neredeydi?
tr be two.old.key past place=the.kitchen time=yesterday ? subject.count > Dün mutfakta kaç eski anahtar vardı?
tr go leo goal=rome companion=nina ? companion > Leo kiminle Roma'ya gidiyor?
zh read the.old.doctor object=three.letter place=the.library ? subject > 谁在图书馆里读三封信？
zh read the.old.doctor object=three.letter place=the.library ? object > 老医生在图书馆里读什么？
zh read the.old.doctor object=three.letter place=the.library ? object.count > 老医生在图书馆里读几封信？
zh read the.old.doctor object=three.letter place=the.library ? place > 老医生在哪里读三封信？
zh give a.young.teacher past object=two.red.apple recipient=this.boy time=last_week fronted ? recipient
    > 一位年轻的教师上周给了谁两个红色的苹果？
zh give a.young.teacher past object=two.red.apple recipient=this.boy time=last_week fronted ? time
    > 一位年轻的教师什么时候给了这个男孩两个红色的苹果？
zh travel leo past goal=rome companion=anna ? goal > 利奥和安娜一起到哪里旅行了？
zh travel leo past goal=rome companion=anna ? companion > 利奥和谁一起到罗马旅行了？
zh call leo future object=nina ? object > 利奥会给谁打电话？
zh be the.key place=rome ? place > 钥匙在哪里？
zh laugh every.king past time=yesterday ? subject > 谁昨天笑了？
hi read the.old.doctor object=three.letter place=the.library ? subject > कौन पुस्तकालय में तीन चिट्ठियाँ पढ़ता है?
hi read the.old.doctor object=three.letter place=the.library ? object > बूढ़ा डॉक्टर पुस्तकालय में क्या पढ़ता है?
hi read the.old.doctor object=three.letter place=the.library ? place > बूढ़ा डॉक्टर कहाँ तीन चिट्ठियाँ पढ़ता है?
hi read the.old.doctor object=three.letter place=the.library ? object.count
    > बूढ़ा डॉक्टर पुस्तकालय में कितनी चिट्ठियाँ पढ़ता है?
hi help these.girl past object=two.tired.boy manner=secretly ? subject > किसने चुपके से दो थके लड़कों की मदद की?
hi help these.girl past object=two.tired.boy manner=secretly ? object > इन लड़कियों ने चुपके से किसकी मदद की?
hi help these.girl past object=two.tired.boy manner=secretly ? object.count
    > इन लड़कियों ने चुपके से कितने थके लड़कों की मदद की?
hi find the.girl object=a.key ? subject > किसे एक चाबी मिलती है?
hi find the.girl past object=a.key ? object > लड़की को क्या मिला?
hi wash the.girl past object=the.dog ? object > लड़की ने क्या धोया?
hi bring leo past object=a.cake recipient=anna ? recipient > लियो किसके लिए एक केक लाया?
hi travel leo past goal=rome companion=anna ? goal > लियो ने अन्ना के साथ कहाँ की यात्रा की?
hi travel leo past goal=rome companion=anna ? companion > लियो ने किसके साथ रोम की यात्रा की?
hi be the.key place=rome ? place > चाबी कहाँ है?
hi arrive leo past place=the.harbor time=yesterday fronted ? time > लियो कब बंदरगाह पहुँचा?
"""
ZH_GIVES = "give a.young.teacher past object=two.red.apple recipient=this.boy time=last_week fronted"
HI_HELPS = "help these.girl past object=two.tired.boy manner=secretly"
FINDS = "find anna past object=a.key place=the.park negated"
LINKS = [
    # did-fand, not-keinen, find-fand, a-keinen, in-im, the-im
    (FINDS, "de", "Anna did not find a key in the park.", "Anna fand im Park keinen Schlüssel.",
     "0-0 1-1 2-4 3-1 4-4 5-5 6-2 7-2 8-3 9-6"),
    # did-没有, not-没有, find-找到, a-任何, key-钥匙, in-在 and in-里, park-公园
    (FINDS, "zh", "Anna did not find a key in the park.", "安娜没有在公园里找到任何钥匙。",
     "0-0 1-1 2-1 3-5 4-6 5-7 6-2 6-4 8-3 9-8"),
    # did-मिली, not-नहीं, find-मिली, a-कोई, key-चाबी, in-में, park-पार्क
    (FINDS, "hi", "Anna did not find a key in the park.", "अन्ना को पार्क में कोई चाबी नहीं मिली।",
     "0-0 1-7 2-6 3-7 4-4 5-5 6-3 8-2 9-8"),
    # to-al, the-al
    ("go anna past goal=the.small.park", "es", "Anna went to the small park.", "Anna fue al parque pequeño.",
     "0-0 1-1 2-2 3-2 4-4 5-3 6-5"),
    # the article of a mass noun is linked to nothing
    ("be milk quality=cold", "es", "Milk is cold.", "La leche está fría.", "0-1 1-2 2-3 3-4"),
    # will, not and go to one word with suffixes
    ("go anna future goal=istanbul negated", "tr", "Anna will not go to Istanbul.", "Anna İstanbul'a gitmeyecek.",
     "0-0 1-2 2-2 3-2 4-1 5-1 6-3"),
]  # fmt: skip


def parse(text):
    """Read a scene: predicate, subject, then tense (default: present) and other fields; phrases end with their noun."""
    predicate, subject, *rest = text.split()
    fields = {}
    for field in rest:
        name, _, value = field.partition("=")
        if name in TENSES:
            fields["tense"] = name
        else:
            fields[name] = phrase(value) if name in PARTICIPANTS else value or True
    return Scene(predicate, phrase(subject), **fields)


def phrase(text):
    *before, head = text.split(".")
    if before and before[0] in GIVEN:
        return Phrase(before[0], surname=head)
    return Phrase(head, **{"determiner" if word in DETERMINERS else "quality": word for word in before})


def rows(table):
    lines = table.strip().replace("\n    ", " ").splitlines()
    return [line.replace(" ? ", " > ").split(" > ") for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("scene", "text"), rows(STATEMENTS))
def test_statements(scene, text):
    code, _, spec = scene.partition(" ")
    assert bool(problems(parse(spec))) == (text == "-")
    assert text == "-" or language(code).realize(parse(spec)).text == text


@pytest.mark.parametrize(("scene", "role", "text"), rows(QUESTIONS))
def test_questions(scene, role, text):
    code, _, spec = scene.partition(" ")
    assert not problems(parse(spec))
    assert language(code).realize(parse(spec), role).text == text


@pytest.mark.parametrize(("scene", "code", "source", "target", "pairs"), LINKS)
def test_links_with_english(scene, code, source, target, pairs):
    english, other = language("en").realize(parse(scene)), language(code).realize(parse(scene))
    assert (english.text, other.text) == (source, target)
    assert " ".join(f"{i}-{j}" for i, j in links(english, other)) == pairs


def test_lemmas_and_heads_of_fused_words():
    spanish = language("es").realize(parse("go anna past goal=the.small.park")).words
    assert [word.lemma for word in spanish] == ["Anna", "ir", "a", "parque", "pequeño", "."]
    assert [word.head for word in spanish] == [2, 0, 4, 2, 4, 2]
    turkish = language("tr").realize(parse("go anna future goal=istanbul negated")).words
    assert [word.lemma for word in turkish] == ["Anna", "İstanbul", "git", "."]
    assert [word.name for word in turkish] == ["B-PER", "B-LOC", "O", "O"]


def test_en_gold():
    sentence = language("en").realize(parse("see anna.weber past object=a.dog place=new_delhi negated"))
    words = sentence.words
    assert sentence.text[slice(*sentence.span("place"))] == "in New Delhi"
    assert " ".join(word.form for word in words) == "Anna Weber did not see a dog in New Delhi ."
    assert [word.head for word in words] == [5, 1, 5, 5, 0, 7, 5, 9, 5, 9, 5]
    assert [word.name for word in words] == ["B-PER", "I-PER", *"OOOOOO", "B-LOC", "I-LOC", "O"]
    assert " ".join(word.upos for word in words) == "PROPN PROPN AUX PART VERB DET NOUN ADP PROPN PROPN PUNCT"
    assert words[2].roles == ("tense",)
    assert words[4].roles == ("predicate",)


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
def test_declension(concept, accusative, dative, locative, with_it):
    forms = [declined(NOUN[concept], case, plural=False) for case in ("acc", "dat", "loc", "ins")]
    assert forms == [accusative, dative, locative, with_it]


def test_plurals_and_names():
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
def test_conjugation(concept, forms):
    found = [conjugated(VERB[concept], tense, negated=negated)
             for negated in (False, True) for tense in ("past", "present", "future")]  # fmt: skip
    assert " ".join(found) == forms


def test_zh_gold():
    words = language("zh").realize(parse(ZH_GIVES)).words
    assert [word.form for word in words] == (
        "上 周 ， 一 位 年轻 的 教师 给 了 这 个 男孩 两 个 红色 的 苹果 。".split()
    )
    assert [word.upos for word in words] == (
        "DET NOUN PUNCT NUM NOUN ADJ PART NOUN VERB AUX DET NOUN NOUN NUM NOUN ADJ PART NOUN PUNCT".split()
    )
    assert [word.head for word in words] == [2, 9, 9, 8, 4, 8, 6, 9, 0, 9, 13, 11, 9, 18, 14, 18, 16, 9, 9]
    assert [word.deprel for word in words[3:7]] == ["nummod", "clf", "amod", "mark:rel"]


def test_a_name_of_two_parts_is_one_name():
    words = language("zh").realize(parse("laugh anna.chen")).words
    assert [(word.form, word.name) for word in words[:4]] == [
        ("安娜", "B-PER"), ("·", "I-PER"), ("陈", "I-PER"), ("笑", "O"),
    ]  # fmt: skip


def test_hi_gold():
    words = language("hi").realize(parse(HI_HELPS)).words
    assert [(word.form, word.lemma, word.upos) for word in words] == [
        ("इन", "यह", "DET"), ("लड़कियों", "लड़की", "NOUN"), ("ने", "ने", "ADP"), ("चुपके", "चुपके", "NOUN"),
        ("से", "से", "ADP"), ("दो", "दो", "NUM"), ("थके", "थका", "ADJ"), ("लड़कों", "लड़का", "NOUN"), ("की", "का", "ADP"),
        ("मदद", "मदद", "NOUN"), ("की", "कर", "VERB"), ("।", "।", "PUNCT"),
    ]  # fmt: skip
    assert [word.head for word in words] == [2, 11, 2, 11, 4, 8, 8, 10, 8, 11, 0, 11]
    assert [word.deprel for word in words[:3]] == ["det", "nsubj", "case"]
    assert [word.deprel for word in words[7:11]] == ["nmod", "case", "compound", "root"]
