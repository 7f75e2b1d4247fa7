"""Turkish: verb last, cases and tenses as suffixes in vowel harmony, no article but bir, questions in place."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from interlace.toy.concepts import GIVEN, NOUNS, NUMERALS, SURNAMES
from interlace.toy.languages import ToyLanguage
from interlace.toy.sentences import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    TENSE,
    Token,
    ToySentence,
    cells,
    citation_forms,
    finish,
    part,
    person_or_town,
    phrase_of_time,
    time_tokens,
    word_map,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.toy.scenes import Phrase, Scene

# ---- words ----

_HIGH = {"a": "ı", "ı": "ı", "â": "ı", "e": "i", "i": "i", "o": "u", "u": "u", "ö": "ü", "ü": "ü"}  # vowel -> its I
_FRONT = frozenset("eiöü")
_VOICELESS = frozenset("fstkçşhp")
_CASES = {"": "", "acc": "(y)I", "dat": "(y)A", "loc": "DA", "ins": "(y)lA"}
_BOUND_CASES = {"": "", "acc": "nI", "dat": "nA", "loc": "ndA", "ins": "ylA"}  # after the suffix of a compound


class _Noun(NamedTuple):
    """A noun's forms. `before`: the first word of a compound, unchanging ("kız" of kız kardeş)."""

    before: str
    form: str
    soft: str  # the stem before vowels: kitab, ağac, nehr
    plural: str
    bound: bool  # a compound with the possessive suffix: cases follow with n (havaalanında)
    front: bool  # takes front vowels in spite of its own (saat, saati)


class _Verb(NamedTuple):
    """A verb's stems. `before`: the noun of a light verb ("yardım" of yardım etmek)."""

    before: str
    root: str
    soft: str  # before vowels: gid, ed
    case: str  # of the object: "" (accusative where it is definite) or "dat"

    @property
    def infinitive(self) -> str:
        """The citation form, one or two words."""
        return (self.before + " " if self.before else "") + attach(self.root, "mAk")


@cache
def ending(stem: str, template: str, *, front: bool = False) -> str:
    """Return the suffix of a template after a stem."""
    text = stem.lower()
    last = "e" if front else next(letter for letter in reversed(text) if letter in _HIGH)
    before = text[-1]
    found = ""
    if template.startswith("("):
        template = (template[1] if before in _HIGH else "") + template[3:]
    for letter in template:
        if letter == "A":
            before = "e" if last in _FRONT else "a"
        elif letter == "I":
            before = _HIGH[last]
        elif letter == "D":
            before = "t" if before in _VOICELESS else "d"
        else:
            before = letter
        last = before if before in _HIGH else last
        found += before
    return found


def attach(stem: str, template: str) -> str:
    """Return a stem with its suffix."""
    return stem + ending(stem, template)


@cache
def declined(noun: _Noun, case: str, *, plural: bool) -> str:
    """Return a noun (its last word) in a case: "", acc, dat, loc, ins."""
    form = noun.plural if plural else noun.form
    if noun.bound:
        return attach(form, _BOUND_CASES[case])
    if plural:
        return attach(form, _CASES[case])
    stem = noun.soft if case in ("acc", "dat") else form
    return stem + ending(stem, _CASES[case], front=noun.front)


@cache
def declined_name(name: str, case: str) -> str:
    """Return a proper noun in a case, after an apostrophe; its spelling never changes."""
    return f"{name}'{ending(name, _CASES[case])}" if case else name


@cache
def conjugated(verb: _Verb, tense: str, *, negated: bool) -> str:
    """Return the third person singular (also used with plural subjects) of past, present or future."""
    stem = attach(verb.root, "mA") if negated else verb.root if tense == "past" else verb.soft
    if tense == "past":
        return attach(stem, "DI")
    if tense == "future":
        return attach(stem, "(y)AcAk")
    if stem[-1] not in _HIGH:
        return attach(stem, "Iyor")
    short = stem[:-1]  # -Iyor swallows a last vowel: bekle, bekliyor
    return short + ending(short if any(letter in _HIGH for letter in short) else stem, "Iyor")


@cache
def was(form: str) -> str:
    """Return a predicate with the past copula: güzeldi, evdeydi, kitaptı."""
    return attach(form, "(y)DI")


# concept, word; "+" joins a compound, "/" leads the stem before vowels, "*" the plural of a compound with the
# possessive suffix, "^" marks front vowels after back ones
_NOUNS = """
doctor doktor | nurse hemşire | patient hasta | dentist dişçi | teacher öğretmen | student öğrenci | pupil talebe
professor profesör | scientist bilim+insanı*insanları | writer yazar | journalist gazeteci | secretary sekreter
chef aşçı | waiter garson | baker fırıncı | farmer çiftçi | gardener bahçıvan | shepherd çoban | fisherman balıkçı
sailor denizci | captain kaptan | pilot pilot | driver şoför | tourist turist | musician müzisyen | singer şarkıcı
dancer dansçı | painter ressam | actor oyuncu | photographer fotoğrafçı | engineer mühendis | mechanic tamirci
carpenter marangoz | worker işçi | policeman polis | judge yargıç/yargıc | lawyer avukat | thief hırsız
merchant tüccar | customer müşteri | neighbor komşu | guest misafir | mother anne | father baba
grandmother büyükanne | grandfather büyükbaba | brother erkek+kardeş | sister kız+kardeş | boy oğlan | girl kız
man adam | woman kadın | king kral | queen kraliçe | soldier asker | person kişi | animal hayvan
dog köpek/köpeğ | cat kedi | horse at | cow inek/ineğ | sheep koyun | goat keçi | pig domuz | hen tavuk/tavuğ
duck ördek/ördeğ | mouse fare | rabbit tavşan | wolf kurt/kurd | bear ayı | lion aslan | elephant fil | monkey maymun
snake yılan | frog kurbağa | bee arı | eagle kartal | fish balık/balığ
apple elma | banana muz | pear armut/armud | potato patates | tomato domates | carrot havuç/havuc | egg yumurta
cake kek | bread ekmek/ekmeğ | cheese peynir | rice pirinç/pirinc | meat et | soup çorba | honey bal
chocolate çikolata | water su | milk süt | tea çay | coffee kahve | juice meyve+suyu*suları | wine şarap/şarab
book kitap/kitab | letter mektup/mektub | newspaper gazete | poem şiir | report rapor | map harita | message mesaj
hammer çekiç/çekic | knife bıçak/bıçağ | axe balta | saw testere | rope ip | bucket kova | ladder merdiven
key anahtar | lamp lamba | plate tabak/tabağ | cup fincan | spoon kaşık/kaşığ | bottle şişe | hat şapka | coat palto
shirt gömlek/gömleğ | shoe ayakkabı | dress elbise | scarf atkı | table masa | chair sandalye | bed yatak/yatağ
cupboard dolap/dolab | door kapı | window pencere | mirror ayna | car araba | bicycle bisiklet | boat tekne
truck kamyon | bus otobüs | tractor traktör | guitar gitar | violin keman | piano piyano | flute flüt | drum davul
trumpet trompet | computer bilgisayar | telephone telefon | camera kamera | radio radyo | clock saat^ | ball top
doll oyuncak+bebek/bebeğ | gift hediye | picture tablo | statue heykel | stone taş | tree ağaç/ağac | flower çiçek/çiçeğ
bag çanta | box kutu | umbrella şemsiye | basket sepet | ring yüzük/yüzüğ | coin madeni+para | ticket bilet
medicine ilaç/ilac | bandage bandaj | tool alet | vehicle taşıt | instrument çalgı
hospital hastane | pharmacy eczane | school okul | university üniversite | library kütüphane | office ofis
kitchen mutfak/mutfağ | restaurant restoran | bakery fırın | market pazar | shop dükkân | farm çiftlik/çiftliğ
field tarla | garden bahçe | forest orman | park park | lake göl | river nehir/nehr | beach plaj | harbor liman
island ada | station istasyon | airport havaalanı*havaalanları | hotel otel | museum müze | theater tiyatro
workshop atölye | factory fabrika | church kilise | street sokak/sokağ | castle kale | house ev | village köy
"""
# concept, root; "+" joins a light verb, "/" leads the stem before vowels; "dat" if the object is in the dative
_VERBS = """
sleep uyu | work çalış | laugh gül | cry ağla | dance dans+et/ed | sing şarkı+söyle | wait bekle | swim yüz | arrive gel
jump zıpla | go git/gid | travel seyahat+et/ed | return dön | run koş | eat ye/yi | drink iç | cook pişir | bake fırınla
buy satın+al | sell sat | read oku | write yaz | see gör | find bul | lose kaybet/kaybed | seek ara
help yardım+et/ed dat | visit ziyaret+et/ed | greet selamla | call telefon+et/ed dat | invite davet+et/ed | love sev
know tanı | need ihtiyaç+duy dat | follow takip+et/ed | photograph fotoğrafla | paint boya | repair tamir+et/ed
clean temizle | wash yıka | open aç | close kapat | wear giy | lift kaldır | push it | drive sür | play çal | hear duy
build yap | cut kes | plant dik | feed besle | catch yakala | steal aşır | hide sakla | forget unut | heal iyileştir
give ver | show göster | send gönder | bring getir
"""
# verb concept, noun concept or tag of the object, root: verbs that depend on their object
_VARIANTS = """
know reading bil | know building bil | wear hat tak | wear scarf tak | paint picture yap | paint person resmet/resmed
paint animal resmet/resmed | paint plant resmet/resmed | paint building resmet/resmed
"""
BARE: frozenset[str] = frozenset(  # verbs with caseless indefinite objects right before them
    """eat drink cook bake buy sell read write see find lose seek need hear build cut plant catch steal give show send
    bring wear play forget hide repair open feed paint""".split()
)
_ADJECTIVES = """
old eski | young genç | new yeni | big büyük | small küçük | long uzun | short kısa | heavy ağır | expensive pahalı
cheap ucuz | red kırmızı | blue mavi | green yeşil | white beyaz | black siyah | yellow sarı | beautiful güzel
ugly çirkin | happy mutlu | sad üzgün | tired yorgun | hungry aç | rich zengin | poor fakir | famous ünlü
friendly sevecen | strong güçlü | weak zayıf | clean_quality temiz | dirty kirli | hot sıcak | cold soğuk | fresh taze
sweet tatlı | empty boş | full dolu | dangerous tehlikeli
"""
OLD_IN_YEARS = "yaşlı"  # of persons and animals
_MANNERS = """
slowly yavaşça | quickly hızla | quietly sessizce | loudly gürültüyle | carefully dikkatle | happily neşeyle
patiently sabırla | secretly gizlice
"""
_DETERMINERS = """
two iki | three üç | four dört | five beş | six altı | seven yedi | eight sekiz | nine dokuz | ten on
a bir | this bu | these bu | many birçok | some birkaç | every her | no hiçbir
"""
THE = "o"  # the definite article has no word; only dictionaries give the demonstrative
_TOWNS = {
    "berlin": "Berlin", "london": "Londra", "paris": "Paris", "madrid": "Madrid", "istanbul": "İstanbul",
    "vienna": "Viyana", "rome": "Roma", "moscow": "Moskova", "beijing": "Pekin", "new_delhi": "Yeni Delhi",
    "tokyo": "Tokyo", "cairo": "Kahire",
}  # fmt: skip
_UNITS = {
    "week": "hafta", "month": "ay", "year": "yıl", "summer": "yaz", "winter": "kış", "monday": "pazartesi",
    "friday": "cuma",
}  # fmt: skip
_TIMES = {
    "yesterday": "dün/=/ADV/wu", "today": "bugün/=/ADV/wu", "now": "şimdi/=/ADV/wu", "tomorrow": "yarın/=/ADV/wu",
    "every_day": "her/=/DET/w gün/=/NOUN/u", "every_morning": "her/=/DET/w sabah/=/NOUN/u",
} | {
    f"{which}_{unit}": f"{adjective}/=/ADJ/w {word}/=/NOUN/u"
    for which, adjective in (("last", "geçen"), ("next", "gelecek")) for unit, word in _UNITS.items()
}  # fmt: skip


def _noun(cell: str) -> _Noun:
    before, _, rest = cell.rpartition("+")
    rest, _, plural = rest.partition("*")
    front = rest.endswith("^")
    form, _, soft = rest.removesuffix("^").partition("/")
    return _Noun(before, form, soft or form, plural or form + ending(form, "lAr", front=front), bool(plural), front)


def _verb_entry(cell: str, case: str = "") -> _Verb:
    before, _, rest = cell.rpartition("+")
    root, _, soft = rest.partition("/")
    return _Verb(before, root, soft or root, case)


def _variants() -> dict[tuple[str, str], _Verb]:
    found = {}
    for predicate, what, cell in cells(_VARIANTS):
        for concept, noun in NOUNS.items():
            if what == concept or what in noun.tags:
                found[predicate, concept] = _verb_entry(cell)
        for name in GIVEN if what == "person" else ():
            found[predicate, name] = _verb_entry(cell)
    return found


def _citation(noun: _Noun) -> str:
    return f"{noun.before} {noun.form}" if noun.before else noun.form


NOUN: dict[str, _Noun] = {concept: _noun(cell) for concept, cell in cells(_NOUNS)}
VERB: dict[str, _Verb] = {concept: _verb_entry(*rest) for concept, *rest in cells(_VERBS)}
VARIANT: dict[tuple[str, str], _Verb] = _variants()  # verb concept and head of the object -> verb
ADJECTIVE = word_map(_ADJECTIVES)
MANNER_WORD = word_map(_MANNERS)
DETERMINER = word_map(_DETERMINERS)
NAME: dict[str, str] = {name: name.title() for name in (*GIVEN, *SURNAMES)} | _TOWNS
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
WORDS = citation_forms(
    {concept: _citation(noun) for concept, noun in NOUN.items()},
    {concept: verb.infinitive for concept, verb in VERB.items()},
    ADJECTIVE,
    MANNER_WORD,
    DETERMINER,
    {"the": THE},
    NAME,
    times=TIME,
)


# ---- grammar ----

_WHO = {"": "kim", "acc": "kimi", "dat": "kime", "ins": "kiminle"}
_WHAT = {"": "ne", "acc": "neyi", "dat": "neye"}
_WHERE = {"loc": "nerede", "dat": "nereye"}
_VAGUE = frozenset({"a", *NUMERALS, "many", "some"})  # "parkta üç köpek var", not "üç köpek parkta"


class Turkish(ToyLanguage):
    """Statement: [time] subject [time] companion place object-acc recipient manner bare-object goal verb."""

    code: ClassVar[str] = "tr"
    name: ClassVar[str] = "Turkish"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realize(self, scene: Scene) -> ToySentence:
        """Return the statement of a scene with its gold annotation."""
        return finish(_capital(_clause(scene)))

    def question(self, scene: Scene, role: str) -> ToySentence:
        """Return the question whose answer in the statement is `role`."""
        return finish(_capital(_clause(scene, role)), "?")


def _capital(tokens: list[Token]) -> list[Token]:
    """Capitalize a first i to İ, unlike `str.upper`."""
    if tokens[0].form[0] == "i":
        tokens[0].form = "İ" + tokens[0].form[1:]
    return tokens


def _clause(scene: Scene, wh_role: str = "") -> list[Token]:
    """Return all tokens except the mark; a question word replaces the phrase of `wh_role`."""
    if scene.predicate != "be":
        return _event(scene, wh_role)
    if scene.place and scene.subject.determiner in _VAGUE and not scene.denied:
        return _existence(scene, scene.place, wh_role)
    root, predicate = _predicate(scene, wh_role)
    return _ordered(scene, wh_role, root, predicate)


def _ordered(scene: Scene, wh_role: str, root: Token, rest: list[Token]) -> list[Token]:
    """Return subject, time, rest; the time is first if it is fronted, or if the subject is questioned."""
    subject = _participant(scene.subject, "subject", "nsubj", root, "", wh_role)
    time = _time(scene, root, wh_role)
    first = wh_role != "time" and (scene.fronted or wh_role.startswith("subject"))
    return [*time, *subject, *rest] if first else [*subject, *time, *rest]


def _event(scene: Scene, wh_role: str) -> list[Token]:
    verb = _verb(scene)
    form = conjugated(verb, scene.tense, negated=scene.denied)
    denial = NEGATION if scene.denied else ()
    root = Token(form, verb.root, "VERB", (*PREDICATE, *TENSE, *denial), "root")
    tokens: list[Token] = []
    if scene.companion:
        tokens += _participant(scene.companion, "companion", "obl", root, "ins", wh_role)
    if scene.place:
        case = "dat" if scene.predicate == "arrive" else "loc"
        tokens += _participant(scene.place, "place", "obl", root, case, wh_role)
    near, far = _object(scene, verb, root, wh_role)
    tokens += far
    if scene.recipient:
        tokens += _participant(scene.recipient, "recipient", "iobj", root, "dat", wh_role)
    if scene.manner:
        tokens.append(Token(MANNER_WORD[scene.manner], MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root))
    tokens += near
    if scene.goal:
        tokens += _participant(scene.goal, "goal", "obl", root, "dat", wh_role)
    light = [Token(verb.before, verb.before, "NOUN", PREDICATE, "compound:lvc", root)] if verb.before else []
    return _ordered(scene, wh_role, root, [*tokens, *light, root])


def _verb(scene: Scene) -> _Verb:
    """Return the verb; some depend on the object ("kitabı biliyor", "doktoru tanıyor")."""
    if scene.object is None:
        return VERB[scene.predicate]
    return VARIANT.get((scene.predicate, scene.object.head)) or VERB[scene.predicate]


def _object(scene: Scene, verb: _Verb, root: Token, wh_role: str) -> tuple[list[Token], list[Token]]:
    """Return (bare object right before the verb, object with a case further left); one of them is empty."""
    if scene.object is None:
        return [], []
    thing = scene.object
    if scene.negated and thing.determiner == "a":
        thing = thing._replace(determiner="no")
    case = verb.case or _object_case(scene.predicate, thing)
    tokens = _participant(thing, "object", "obj", root, case, wh_role)
    return ([], tokens) if case else (tokens, [])


def _object_case(predicate: str, thing: Phrase) -> str:
    """Return the accusative for definite objects, persons and some verbs; mass nouns have none."""
    if thing.person or thing.definite or thing.determiner == "every":
        return "acc"
    return "" if predicate in BARE or not thing.determiner else "acc"


def _existence(scene: Scene, place: Phrase, wh_role: str) -> list[Token]:
    """Return an existential sentence: place, time, subject, var."""
    form = {"past": "vardı", "present": "var", "future": "olacak"}[scene.tense]
    lemma = "ol" if scene.tense == "future" else "var"
    root = Token(form, lemma, "VERB", (*COPULA, *TENSE), "root")
    where = _participant(place, "place", "obl", root, "loc", wh_role)
    subject = _participant(scene.subject, "subject", "nsubj", root, "", wh_role)
    time = _time(scene, root, wh_role)
    first = wh_role != "time" and (scene.fronted or wh_role.startswith("subject"))
    return [*time, *where, *subject, root] if first else [*where, *time, *subject, root]


def _predicate(scene: Scene, wh_role: str) -> tuple[Token, list[Token]]:
    """Return a predicate with its copula: none in the present, a suffix in the past, olacak in the future."""
    tokens = _predicate_word(scene, wh_role)
    root = next(token for token in tokens if token.head is None)
    if scene.tense == "future":
        form, roles = ("olmayacak", (*COPULA, *TENSE, *NEGATION)) if scene.denied else ("olacak", (*COPULA, *TENSE))
        return root, [*tokens, Token(form, "ol", "AUX", roles, "cop", root)]
    last = tokens[-1]
    if scene.denied:
        last = Token("değil", "değil", "AUX", (*NEGATION, *COPULA), "cop", root)
        tokens.append(last)
    if scene.tense == "past":
        last.form = was(last.form)
        last.roles = tuple(dict.fromkeys((*last.roles, *COPULA, *TENSE)))
    return root, tokens


def _predicate_word(scene: Scene, wh_role: str) -> list[Token]:
    if scene.quality:
        form = _adjective(scene.quality, scene.subject)
        return [Token(form, form, "ADJ", QUALITY, "root")]
    if scene.category:
        return _category(scene.category)
    return _participant(scene.place, "place", "root", None, "loc", wh_role) if scene.place else []


def _category(concept: str) -> list[Token]:
    """Return a category; professions have no bir ("Peter doktor", "Peter bir hırsız")."""
    noun = NOUN[concept]
    root = Token(noun.form, noun.form, "NOUN", CATEGORY, "root")
    tokens = [Token(noun.before, noun.before, "NOUN", CATEGORY, "compound", root), root] if noun.before else [root]
    if "profession" in NOUNS[concept].tags:
        return tokens
    return [Token("bir", "bir", "DET", CATEGORY, "det", root), *tokens]


def _time(scene: Scene, root: Token, wh_role: str) -> list[Token]:
    if wh_role == "time":
        noun = Token("zaman", "zaman", "NOUN", QUESTION, "obl:tmod", root)
        return [Token("ne", "ne", "DET", QUESTION, "det", noun), noun]
    return time_tokens(TIME[scene.time], root) if scene.time else []


def _adjective(quality: str, phrase: Phrase) -> str:
    alive = phrase.person or (not phrase.named and "animal" in NOUNS[phrase.head].tags)
    return OLD_IN_YEARS if quality == "old" and alive else ADJECTIVE[quality]


def _participant(phrase: Phrase, role: str, deprel: str, head: Token | None, case: str, wh_role: str) -> list[Token]:
    """Return a participant in its case, or its question word."""
    if role != wh_role:
        return _phrase(phrase, role, deprel, head, case, counted=wh_role == role + ".count")
    if role in ("place", "goal"):
        form = _WHERE[case]
        return [Token(form, "nere", "ADV", QUESTION, deprel if head is None else "advmod", head)]
    form = (_WHO if phrase.person else _WHAT)[case]
    return [Token(form, "kim" if phrase.person else "ne", "PRON", QUESTION, deprel, head)]


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, case: str, *, counted: bool = False
) -> list[Token]:
    """Return determiner (or "kaç"), quality, noun; bir follows the quality. Nouns are singular after numerals."""
    roles = part(role)
    if phrase.named:
        return _name(phrase, role, deprel, head, case)
    word = NOUN[phrase.head]
    form = declined(word, case, plural=phrase.determiner == "these")
    noun = Token(form, word.form, "NOUN", (*roles.head, *roles.relation) if case else roles.head, deprel, head)
    tokens = [Token(word.before, word.before, "NOUN", roles.head, "compound", noun), noun] if word.before else [noun]
    if phrase.determiner == "a":
        tokens.insert(0, Token("bir", "bir", "DET", roles.determiner, "det", noun))
    if phrase.quality:
        quality = _adjective(phrase.quality, phrase)
        tokens.insert(0, Token(quality, quality, "ADJ", roles.quality, "amod", noun))
    if counted:
        tokens.insert(0, Token("kaç", "kaç", "DET", QUESTION, "det", noun))
    elif phrase.determiner not in ("", "the", "a"):
        number = phrase.determiner in NUMERALS
        form = DETERMINER[phrase.determiner]
        kind, relation = ("NUM", "nummod") if number else ("DET", "det")
        tokens.insert(0, Token(form, form, kind, roles.determiner, relation, noun))
    return tokens


def _name(phrase: Phrase, role: str, deprel: str, head: Token | None, case: str) -> list[Token]:
    """Return a name; its last word has the case after an apostrophe."""
    roles = part(role)
    tokens = person_or_town(phrase, NAME, role, deprel, head)
    last = tokens[-1]
    last.form = declined_name(last.form, case)
    last.roles = (*last.roles, *roles.relation) if case else last.roles
    return tokens
