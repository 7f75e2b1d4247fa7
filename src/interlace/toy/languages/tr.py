"""Turkish: verb last, cases and tenses as suffixes in vowel harmony, no article but bir, questions in place."""

from functools import cache
from typing import NamedTuple

from interlace.toy.concepts import GIVEN, NOUNS, NUMERALS, cells
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import LATIN_NAMES, Clause, Token, citation_forms, entries, word_map

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


def _noun(cell: str) -> _Noun:
    before, _, rest = cell.rpartition("+")
    rest, _, plural = rest.partition("*")
    front = rest.endswith("^")
    form, _, soft = rest.removesuffix("^").partition("/")
    return _Noun(before, form, soft or form, plural or form + ending(form, "lAr", front=front), bool(plural), front)


def _verb(cell: str, case: str = "") -> _Verb:
    before, _, rest = cell.rpartition("+")
    root, _, soft = rest.partition("/")
    return _Verb(before, root, soft or root, case)


# "+" joins a compound, "/" leads the stem before vowels, "*" the plural of a compound with the possessive suffix,
# "^" marks front vowels after back ones
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
doll oyuncak+bebek/bebeğ | gift hediye | picture tablo | statue heykel | stone taş | tree ağaç/ağac
flower çiçek/çiçeğ | bag çanta | box kutu | umbrella şemsiye | basket sepet | ring yüzük/yüzüğ | coin madeni+para
ticket bilet | medicine ilaç/ilac | bandage bandaj | tool alet | vehicle taşıt | instrument çalgı
hospital hastane | pharmacy eczane | school okul | university üniversite | library kütüphane | office ofis
kitchen mutfak/mutfağ | restaurant restoran | bakery fırın | market pazar | shop dükkân | farm çiftlik/çiftliğ
field tarla | garden bahçe | forest orman | park park | lake göl | river nehir/nehr | beach plaj | harbor liman
island ada | station istasyon | airport havaalanı*havaalanları | hotel otel | museum müze | theater tiyatro
workshop atölye | factory fabrika | church kilise | street sokak/sokağ | castle kale | house ev | village köy
"""
NOUN = entries(_noun, _NOUNS)
# concept, root; "+" joins a light verb, "/" leads the stem before vowels; "dat" if the object is in the dative
_VERBS = """
sleep uyu | work çalış | laugh gül | cry ağla | dance dans+et/ed | sing şarkı+söyle | wait bekle | swim yüz
arrive gel | jump zıpla | go git/gid | travel seyahat+et/ed | return dön | run koş | eat ye/yi | drink iç | cook pişir
bake fırınla | buy satın+al | sell sat | read oku | write yaz | see gör | find bul | lose kaybet/kaybed | seek ara
help yardım+et/ed dat | visit ziyaret+et/ed | greet selamla | call telefon+et/ed dat | invite davet+et/ed | love sev
know tanı | need ihtiyaç+duy dat | follow takip+et/ed | photograph fotoğrafla | paint boya | repair tamir+et/ed
clean temizle | wash yıka | open aç | close kapat | wear giy | lift kaldır | push it | drive sür | play çal | hear duy
build yap | cut kes | plant dik | feed besle | catch yakala | steal aşır | hide sakla | forget unut | heal iyileştir
give ver | show göster | send gönder | bring getir
"""
VERB = entries(_verb, _VERBS)
_VARIANTS = """
know reading bil | know building bil | wear hat tak | wear scarf tak | paint picture yap | paint person resmet/resmed
paint animal resmet/resmed | paint plant resmet/resmed | paint building resmet/resmed
"""
VARIANT = {  # (verb concept, head of the object) -> verb, from verb concept, noun concept or tag of the object, root
    (predicate, head): _verb(cell)
    for predicate, what, cell in cells(_VARIANTS)
    for head in (*NOUNS, *(GIVEN if what == "person" else ()))
    if head in GIVEN or what == head or what in NOUNS[head].tags
}
BARE: frozenset[str] = frozenset(  # verbs with caseless indefinite objects right before them
    """eat drink cook bake buy sell read write see find lose seek need hear build cut plant catch steal give show send
    bring wear play forget hide repair open feed paint""".split()
)
WORD = LATIN_NAMES | word_map("""
old eski | young genç | new yeni | big büyük | small küçük | long uzun | short kısa | heavy ağır | expensive pahalı
cheap ucuz | red kırmızı | blue mavi | green yeşil | white beyaz | black siyah | yellow sarı | beautiful güzel
ugly çirkin | happy mutlu | sad üzgün | tired yorgun | hungry aç | rich zengin | poor fakir | famous ünlü
friendly sevecen | strong güçlü | weak zayıf | clean_quality temiz | dirty kirli | hot sıcak | cold soğuk | fresh taze
sweet tatlı | empty boş | full dolu | dangerous tehlikeli
slowly yavaşça | quickly hızla | quietly sessizce | loudly gürültüyle | carefully dikkatle | happily neşeyle
patiently sabırla | secretly gizlice
two iki | three üç | four dört | five beş | six altı | seven yedi | eight sekiz | nine dokuz | ten on
a bir | this bu | these bu | many birçok | some birkaç | every her | no hiçbir | the o
berlin Berlin | london Londra | paris Paris | madrid Madrid | istanbul İstanbul | vienna Viyana | rome Roma
moscow Moskova | beijing Pekin | new_delhi Yeni Delhi | tokyo Tokyo | cairo Kahire
""")  # the definite article has no word; only dictionaries give the demonstrative
_UNITS = "week hafta | month ay | year yıl | summer yaz | winter kış | monday pazartesi | friday cuma"
TIME = {
    "yesterday": "dün/ADV/wu", "today": "bugün/ADV/wu", "now": "şimdi/ADV/wu", "tomorrow": "yarın/ADV/wu",
    "every_day": "her/DET/w gün/NOUN/u", "every_morning": "her/DET/w sabah/NOUN/u",
} | {
    f"{which}_{unit}": f"{adjective}/ADJ/w {word}/NOUN/u"
    for which, adjective in (("last", "geçen"), ("next", "gelecek")) for unit, word in cells(_UNITS)
}  # fmt: skip
WORDS = citation_forms(
    {concept: f"{noun.before} {noun.form}".strip() for concept, noun in NOUN.items()},
    {concept: f"{verb.before} {attach(verb.root, 'mAk')}".strip() for concept, verb in VERB.items()},
    WORD,
    times=TIME,
)


# ---- grammar ----

_WHO = {"": "kim", "acc": "kimi", "dat": "kime", "ins": "kiminle"}
_WHAT = {"": "ne", "acc": "neyi", "dat": "neye"}
_VAGUE = frozenset({"a", *NUMERALS, "many", "some"})  # "parkta üç köpek var", not "üç köpek parkta"


class _Clause(Clause):
    """Cases are "", acc, dat, loc and ins."""

    times = TIME
    moves = False

    def tokens(self) -> list[Token]:
        scene = self.scene
        vague = scene.subject.determiner in _VAGUE and not scene.denied
        there = scene.predicate == "be" and scene.place is not None and vague
        rest = self.existence() if there else self.state() if scene.predicate == "be" else self.event()
        start, time = self.participant("subject", "nsubj"), self.time()
        if there:
            start, rest = self.participant("place", "obl", "loc"), [*start, *rest]
        first = self.wh_role != "time" and (scene.fronted or self.wh_role.startswith("subject"))
        return [*time, *start, *rest] if first else [*start, *time, *rest]

    def existence(self) -> list[Token]:
        form = {"past": "vardı", "present": "var", "future": "olacak"}[self.scene.tense]
        lemma = "ol" if form == "olacak" else "var"
        return self.rooted([Token(form, "VERB", "copula tense", "root", lemma=lemma)])

    def event(self) -> list[Token]:
        scene, thing = self.scene, self.scene.object
        verb = VERB[scene.predicate]
        if thing:  # "kitabı biliyor", "doktoru tanıyor"
            verb = VARIANT.get((scene.predicate, thing.head), verb)
        roles = "predicate tense negation" if scene.denied else "predicate tense"
        form = conjugated(verb, scene.tense, negated=scene.denied)
        root = self.root = Token(form, "VERB", roles, "root", lemma=verb.root)
        case = verb.case or (_object_case(scene.predicate, thing) if thing else "")
        place = "dat" if scene.predicate == "arrive" else "loc"
        tokens = [*self.participant("companion", "obl", "ins"), *self.participant("place", "obl", place)]
        thing_tokens = self.participant("object", "obj", case)
        tokens += thing_tokens if case else []
        tokens += [*self.participant("recipient", "iobj", "dat"), *self.manner()]
        tokens += [] if case else thing_tokens
        tokens += self.participant("goal", "obl", "dat")
        light = [Token(verb.before, "NOUN", "predicate", "compound:lvc", root)] if verb.before else []
        return [*tokens, *light, root]

    def state(self) -> list[Token]:
        """Return the predicate of "be" with its copula: none in the present, a suffix in the past, then olacak."""
        scene = self.scene
        if scene.quality:
            predicate = [Token(_adjective(scene.quality, scene.subject), "ADJ", "quality", "root")]
        elif scene.category:
            noun = NOUN[scene.category]
            root = Token(noun.form, "NOUN", "category", "root")
            predicate = [Token(noun.before, "NOUN", "category", "compound", root), root] if noun.before else [root]
            if "profession" not in NOUNS[scene.category].tags:  # "Peter doktor", but "Peter bir hırsız"
                predicate.insert(0, Token("bir", "DET", "category", "det", root))
        elif scene.place and self.wh_role != "place":
            predicate = self.phrase(scene.place, "place", "root", "loc", None)
        else:
            predicate = [Token("nerede", "ADV", "question", "root", lemma="nere")]
        self.rooted(predicate)
        root = self.root
        if scene.tense == "future":
            form, roles = ("olmayacak", "copula tense negation") if scene.denied else ("olacak", "copula tense")
            return [*predicate, Token(form, "AUX", roles, "cop", root, "ol")]
        if scene.denied:
            predicate.append(Token("değil", "AUX", "negation copula", "cop", root))
        if scene.tense == "past":
            predicate[-1].form = was(predicate[-1].form)
            predicate[-1].roles += " tense" if scene.denied else " copula tense"
        return predicate

    def when(self) -> list[Token]:
        noun = Token("zaman", "NOUN", "question", "obl:tmod", self.root)
        return [Token("ne", "DET", "question", "det", noun), noun]

    def question_words(self, phrase: Phrase, role: str, deprel: str, case: str, head: Token) -> list[Token]:
        if role in ("place", "goal"):
            return [Token("nerede" if case == "loc" else "nereye", "ADV", "question", "advmod", head, "nere")]
        form, lemma = (_WHO[case], "kim") if phrase.person else (_WHAT[case], "ne")
        return [Token(form, "PRON", "question", deprel, head, lemma)]

    def phrase(self, phrase: Phrase, role: str, deprel: str, case: str, head: Token | None) -> list[Token]:
        """Return determiner (or "kaç"), quality, noun; bir follows the quality. Nouns are singular after numerals."""
        relation = f" {role}.relation" if case else ""
        if phrase.named:  # the last word has the case after an apostrophe
            tokens = self.named(phrase, role, deprel, head)
            tokens[-1].form = declined_name(tokens[-1].form, case)
            tokens[-1].roles += relation
            return tokens
        word = NOUN[phrase.head]
        form = declined(word, case, plural=phrase.determiner == "these")
        noun = Token(form, "NOUN", f"{role}.head{relation}", deprel, head, word.form)
        tokens = [Token(word.before, "NOUN", f"{role}.head", "compound", noun), noun] if word.before else [noun]
        determiner, roles = phrase.determiner, f"{role}.determiner"
        if role == "object" and self.scene.negated and determiner == "a":
            determiner = "no"
        if determiner == "a":
            tokens.insert(0, Token("bir", "DET", roles, "det", noun))
        if phrase.quality:
            tokens.insert(0, Token(_adjective(phrase.quality, phrase), "ADJ", f"{role}.quality", "amod", noun))
        if self.wh_role == f"{role}.count":
            tokens.insert(0, Token("kaç", "DET", "question", "det", noun))
        elif determiner not in ("", "the", "a"):
            upos, relation = ("NUM", "nummod") if determiner in NUMERALS else ("DET", "det")
            tokens.insert(0, Token(WORD[determiner], upos, roles, relation, noun))
        return tokens


def _object_case(predicate: str, thing: Phrase) -> str:
    """Return the accusative for definite objects, persons and some verbs; mass nouns have none."""
    if thing.person or thing.definite or thing.determiner == "every":
        return "acc"
    return "" if predicate in BARE or not thing.determiner else "acc"


def _adjective(quality: str, phrase: Phrase) -> str:
    alive = phrase.person or (not phrase.named and "animal" in NOUNS[phrase.head].tags)
    return "yaşlı" if quality == "old" and alive else WORD[quality]


class Turkish(ToyLanguage):
    """Statement: [time] subject [time] companion place object-acc recipient manner bare-object goal verb."""

    name = "Turkish"
    words = WORDS
    clause = _Clause

    def spelled(self, tokens: list[Token]) -> list[Token]:
        """Capitalize a first i with its dot, unlike `str.upper`."""
        if tokens[0].form[0] == "i":
            tokens[0].form = "İ" + tokens[0].form[1:]
        return tokens
