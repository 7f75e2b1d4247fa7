"""Hindi: verb last, postpositions, oblique forms; ने in the past of most transitives, whose verb follows the object.

A noun without a determiner is "the" one, एक is "a". Persons, and animals one knows of, take को as objects. Singular
persons stay grammatically singular: the plural of respect would be heard as "these" or "many" where number counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple
from unicodedata import normalize

from interlace.toy.concepts import NOUNS, NUMERALS
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

Forms = tuple[str, str, str, str]


class _Noun(NamedTuple):
    """Direct forms are used alone, oblique ones before a postposition."""

    feminine: bool
    direct: tuple[str, str]  # singular, plural
    oblique: tuple[str, str]


class _Verb(NamedTuple):
    """light: the noun or adjective of a conjunct verb ("काम करना"), with "" or the gender its verb agrees with."""

    stem: str
    light: str
    gender: str  # m, f; "-" an adjective, "n" a noun without agreement
    case: str  # the object's postposition: को, से, का; "" if it depends on the object
    ergative: bool  # the subject of the past takes ने
    dative: bool  # the subject takes को, the verb agrees with the object
    habitual: bool  # a state, whose past is the imperfect: जानता था
    bare: bool  # animal objects are never marked with को
    perfect: Forms
    imperfect: Forms
    future: Forms


# Classes: m and f by their ending; a marked masculine (लड़का); i masculine in -इया; k kinship and learned words in -ा
# (राजा); c any gender, here feminine, declined like a masculine (वैज्ञानिक); y feminine in -इया; x never changes.
_NOUNS = """
doctor डॉक्टर m | nurse नर्स f | patient मरीज़ m | dentist दंतचिकित्सक c | teacher अध्यापिका f | student विद्यार्थी m
pupil छात्रा f | professor प्रोफ़ेसर m | scientist वैज्ञानिक c | writer लेखक m | journalist पत्रकार c | secretary सचिव c
chef बावर्ची m | waiter बैरा a | baker नानबाई m | farmer किसान m | gardener माली m | shepherd चरवाहा a
fisherman मछुआरा a | sailor नाविक m | captain कप्तान m | pilot पायलट c | driver ड्राइवर m | tourist पर्यटक m
musician संगीतकार m | singer गायिका f | dancer नर्तकी f | painter चित्रकार m | actor अभिनेता k | photographer फ़ोटोग्राफ़र c
engineer इंजीनियर c | mechanic मैकेनिक m | carpenter बढ़ई m | worker मज़दूर m | policeman पुलिसवाला a
judge न्यायाधीश c | lawyer वकील m | thief चोर m | merchant व्यापारी m | customer ग्राहक c | neighbor पड़ोसिन f
guest मेहमान m | mother माँ f | father पिता k | grandmother दादी f | grandfather दादा k | brother भाई m
sister बहन f | boy लड़का a | girl लड़की f | man आदमी m | woman औरत f | king राजा k | queen रानी f | soldier सैनिक m
person व्यक्ति m | animal जानवर m
dog कुत्ता a | cat बिल्ली f | horse घोड़ा a | cow गाय f | sheep भेड़ f | goat बकरी f | pig सूअर m | hen मुर्गी f
duck बत्तख f | mouse चूहा a | rabbit ख़रगोश m | wolf भेड़िया i | bear भालू m | lion शेर m | elephant हाथी m
monkey बंदर m | snake साँप m | frog मेंढक m | bee मधुमक्खी f | eagle उक़ाब m | fish मछली f
apple सेब m | banana केला a | pear नाशपाती f | potato आलू m | tomato टमाटर m | carrot गाजर f | egg अंडा a | cake केक m
bread रोटी f | cheese पनीर m | rice चावल m | meat मांस m | soup सूप m | honey शहद m | chocolate चॉकलेट f
water पानी m | milk दूध m | tea चाय f | coffee कॉफ़ी f | juice रस m | wine वाइन f
book किताब f | letter चिट्ठी f | newspaper अख़बार m | poem कविता f | report रिपोर्ट f | map नक़्शा a | message संदेश m
hammer हथौड़ा a | knife चाकू m | axe कुल्हाड़ी f | saw आरी f | rope रस्सी f | bucket बाल्टी f | ladder सीढ़ी f
key चाबी f | lamp लैंप m | plate प्लेट f | cup प्याला a | spoon चम्मच m | bottle बोतल f
hat टोपी f | coat कोट m | shirt क़मीज़ f | shoe जूता a | dress पोशाक f | scarf स्कार्फ़ m
table मेज़ f | chair कुर्सी f | bed पलंग m | cupboard अलमारी f | door दरवाज़ा a | window खिड़की f | mirror आईना a
car कार f | bicycle साइकिल f | boat नाव f | truck ट्रक m | bus बस f | tractor ट्रैक्टर m
guitar गिटार m | violin वायलिन m | piano पियानो x | flute बाँसुरी f | drum ढोल m | trumpet तुरही f
computer कंप्यूटर m | telephone टेलीफ़ोन m | camera कैमरा a | radio रेडियो x | clock घड़ी f | ball गेंद f
doll गुड़िया y | gift उपहार m | picture चित्र m | statue मूर्ति f | stone पत्थर m | tree पेड़ m | flower फूल m | bag थैला a
box डिब्बा a | umbrella छाता a | basket टोकरी f | ring अँगूठी f | coin सिक्का a | ticket टिकट m | medicine दवा f
bandage पट्टी f | tool औज़ार m | vehicle वाहन m | instrument वाद्ययंत्र m
hospital अस्पताल m | pharmacy दवाख़ाना a | school स्कूल m | university विश्वविद्यालय m | library पुस्तकालय m
office दफ़्तर m | kitchen रसोई f | restaurant भोजनालय m | bakery बेकरी f | market बाज़ार m | shop दुकान f | farm फ़ार्म m
field खेत m | garden बग़ीचा a | forest जंगल m | park पार्क m | lake झील f | river नदी f | beach समुद्रतट m
harbor बंदरगाह m | island द्वीप m | station स्टेशन m | airport हवाईअड्डा a | hotel होटल m | museum संग्रहालय m
theater थिएटर m | workshop कार्यशाला f | factory कारख़ाना a | church गिरजाघर m | street सड़क f | castle क़िला a | house घर m
village गाँव m
"""
# concept, stem, then in any order: light word:gender, the object's postposition, ने, and the words of `_verb`
_VERBS = """
sleep सो | work कर काम:m ने | laugh हँस | cry रो | dance नाच | sing गा ने | wait कर इंतज़ार:m ने | swim तैर
arrive पहुँच | jump कूद | go जा | travel कर यात्रा:f ने | return लौट | run दौड़ | eat खा ने | drink पी ने | cook पका ने
bake कर बेक:n ने | eat_soup पी ने | buy ख़रीद ने bare | sell बेच ने bare | read पढ़ ने | write लिख ने | see देख ने | find मिल dative
lose खो ने | seek ढूँढ ने | help कर मदद:f का ने | visit कर दौरा:m का ने | visit_person कर मुलाक़ात:f से ने
greet कर अभिवादन:m का ने | call कर फ़ोन:m को ने | invite कर आमंत्रित:- को ने | love कर प्यार:m से habitual
know जान को habitual | need चाहिए dative | follow कर पीछा:m का ने | photograph खींच फ़ोटो:f का ने
paint कर चित्रित:- ने | repair कर मरम्मत:f का ने | clean कर साफ़:- ने | wash धो ने | open खोल ने | close कर बंद:- ने
wear पहन ने | lift उठा ने | push धकेल ने | drive चला ने | play बजा ने | hear सुन ने | build बना ने | cut काट ने
plant रोप ने | feed खिला को ने | catch पकड़ ने bare | steal चुरा ने | hide छिपा ने | forget भूल | heal कर ठीक:- को ने
give दे ने | show दिखा ने | send भेज ने | bring ला
"""
_PERFECT: dict[str, Forms] = {
    "कर": ("किया", "किए", "की", "कीं"),
    "दे": ("दिया", "दिए", "दी", "दीं"),
    "पी": ("पिया", "पिए", "पी", "पीं"),
    "जा": ("गया", "गए", "गई", "गईं"),
}
_FUTURE = {"दे": ("दे", "दें"), "पी": ("पिए", "पिएँ")}
# two words where the first is an adverb: "कम लंबा", less long, distinguishes the short rope from the small one
_ADJECTIVES = """
old पुराना | young जवान | new नया | big बड़ा | small छोटा | long लंबा | short कम लंबा | heavy भारी | expensive महँगा
cheap सस्ता | red लाल | blue नीला | green हरा | white सफ़ेद | black काला | yellow पीला | beautiful सुंदर | ugly भद्दा
happy ख़ुश | sad उदास | tired थका | hungry भूखा | rich अमीर | poor ग़रीब | famous प्रसिद्ध | friendly मिलनसार
strong ताक़तवर | weak कमज़ोर | clean_quality स्वच्छ | dirty गंदा | hot गर्म | cold ठंडा | fresh ताज़ा | sweet मीठा
empty ख़ाली | full भरा | dangerous ख़तरनाक | aged बूढ़ा
"""
_MANNERS = """
slowly धीरे-धीरे | quickly जल्दी | quietly चुपचाप | loudly ज़ोर से | carefully ध्यान से | happily ख़ुशी से
patiently धैर्य से | secretly चुपके से
"""
_DETERMINERS = """
two दो | three तीन | four चार | five पाँच | six छह | seven सात | eight आठ | nine नौ | ten दस
the वह | a एक | this यह | these ये | many कई | some कुछ | every हर | no कोई
"""
_NAMES = """
anna अन्ना | peter पीटर | maria मारिया | thomas थॉमस | elena एलेना | daniel डेनियल | sara सारा | david डेविड
laura लौरा | martin मार्टिन | julia जूलिया | robert रॉबर्ट | sofia सोफ़िया | leo लियो | nina नीना | omar उमर
weber वेबर | silva सिल्वा | kaya काया | sharma शर्मा | chen चेन | smith स्मिथ | moreno मोरेनो | novak नोवाक
rossi रोसी | haddad हद्दाद
berlin बर्लिन | london लंदन | paris पेरिस | madrid मैड्रिड | istanbul इस्तांबुल | vienna वियना | rome रोम | moscow मॉस्को
beijing बीजिंग | new_delhi नई दिल्ली | tokyo टोक्यो | cairo काहिरा
"""
_LAST = "पिछले/पिछला/ADJ/w"
_NEXT = "अगले/अगला/ADJ/w"
_TIMES = {  # कल alone is yesterday and tomorrow; these two say which
    "yesterday": "बीते/बीता/ADJ/w कल/=/NOUN/u", "tomorrow": "आनेवाले/आनेवाला/ADJ/w कल/=/NOUN/u",
    "last_week": f"{_LAST} हफ़्ते/हफ़्ता/NOUN/u", "next_week": f"{_NEXT} हफ़्ते/हफ़्ता/NOUN/u",
    "last_month": f"{_LAST} महीने/महीना/NOUN/u", "next_month": f"{_NEXT} महीने/महीना/NOUN/u",
    "last_year": f"{_LAST} साल/=/NOUN/u", "next_year": f"{_NEXT} साल/=/NOUN/u",
    "last_summer": "पिछली/पिछला/ADJ/w गर्मियों/गर्मी/NOUN/u में/=/ADP/-",
    "next_summer": "अगली/अगला/ADJ/w गर्मियों/गर्मी/NOUN/u में/=/ADP/-",
    "last_winter": "पिछली/पिछला/ADJ/w सर्दियों/सर्दी/NOUN/u में/=/ADP/-",
    "next_winter": "अगली/अगला/ADJ/w सर्दियों/सर्दी/NOUN/u में/=/ADP/-",
    "last_monday": f"{_LAST} सोमवार/=/NOUN/u को/=/ADP/-", "next_monday": f"{_NEXT} सोमवार/=/NOUN/u को/=/ADP/-",
    "last_friday": f"{_LAST} शुक्रवार/=/NOUN/u को/=/ADP/-", "next_friday": f"{_NEXT} शुक्रवार/=/NOUN/u को/=/ADP/-",
    "today": "आज/=/ADV/wu", "now": "अभी/=/ADV/wu",
    "every_day": "हर/=/DET/w दिन/=/NOUN/u", "every_morning": "हर/=/DET/w सुबह/=/NOUN/u",
}  # fmt: skip
ON = frozenset("station airport harbor beach island street farm".split())  # पर, the others में
# directions: most places and all towns have no postposition, these have one
TO = {
    "field": "में", "garden": "में", "forest": "में", "kitchen": "में", "workshop": "में", "lake": "पर", "river": "पर",
    "beach": "पर", "island": "पर", "street": "पर", "farm": "पर",
}  # fmt: skip


def _many(form: str) -> tuple[str, str]:
    """Return the direct plural of a feminine, and the oblique plural of any noun, by the ending."""
    if form.endswith(("ी", "ि")):
        return form[:-1] + "ियाँ", form[:-1] + "ियों"
    if form.endswith("ई"):
        return form[:-1] + "इयाँ", form[:-1] + "इयों"
    if form.endswith("ू"):
        return form[:-1] + "ुएँ", form[:-1] + "ुओं"
    return (form + "एँ", form + "ओं") if form.endswith(("ा", "ँ")) else (form + "ें", form + "ों")


def _noun(form: str, kind: str) -> _Noun:
    plural, oblique = _many(form)
    if kind == "a":
        return _Noun(False, (form, form[:-1] + "े"), (form[:-1] + "े", form[:-1] + "ों"))
    if kind == "i":
        return _Noun(False, (form, form[:-2] + "ए"), (form[:-2] + "ए", form[:-1] + "ों"))
    if kind == "y":
        return _Noun(True, (form, form + "ँ"), (form, form[:-1] + "ों"))
    if kind == "f":
        return _Noun(True, (form, plural), (form, oblique))
    return _Noun(kind == "c", (form, form), (form, form if kind == "x" else oblique))


def _perfect(stem: str) -> Forms:
    if stem.endswith(("ा", "ो")):
        return stem + "या", stem + "ए", stem + "ई", stem + "ईं"
    return stem + "ा", stem + "े", stem + "ी", stem + "ीं"


def _future(stem: str) -> Forms:
    vowel = stem.endswith(("ा", "ो"))
    one, many = _FUTURE.get(stem) or ((stem + "ए", stem + "एँ") if vowel else (stem + "े", stem + "ें"))
    return one + "गा", many + "गे", one + "गी", many + "गी"


def _verb(stem: str, *words: str) -> _Verb:
    """Build a verb. words: "light:gender", a postposition, and any of ने, dative, habitual, bare."""
    light, _, gender = next((word for word in words if ":" in word), "").partition(":")
    return _Verb(
        stem,
        light,
        gender,
        case=next((word for word in words if word in ("को", "से", "का")), ""),
        ergative="ने" in words,
        dative="dative" in words,
        habitual="habitual" in words,
        bare="bare" in words,
        perfect=_PERFECT.get(stem) or _perfect(stem),
        imperfect=(stem + "ता", stem + "ते", stem + "ती", stem + "ती"),
        future=_future(stem),
    )


def _agreeing(form: str) -> Forms:
    """Return the forms of an adjective: masculine direct, oblique and plural, feminine twice; only -ा changes."""
    if form.endswith("या"):
        return form, form[:-2] + "ए", form[:-2] + "ई", form[:-2] + "ई"
    if form.endswith("ा"):
        return form, form[:-1] + "े", form[:-1] + "ी", form[:-1] + "ी"
    return form, form, form, form


def _infinitive(verb: _Verb) -> str:
    form = verb.stem if verb.stem == "चाहिए" else verb.stem + "ना"
    return f"{verb.light} {form}" if verb.light else form


NOUN: dict[str, _Noun] = {concept: _noun(*parts) for concept, *parts in cells(_NOUNS)}
VERB: dict[str, _Verb] = {concept: _verb(*parts) for concept, *parts in cells(_VERBS)}
_ADJECTIVE = word_map(_ADJECTIVES)
ADJECTIVE: dict[str, tuple[str, Forms]] = {  # concept -> adverb in front or "", forms
    concept: (form.rpartition(" ")[0], _agreeing(form.rpartition(" ")[2])) for concept, form in _ADJECTIVE.items()
}
MANNER_WORD = word_map(_MANNERS)
DETERMINER = word_map(_DETERMINERS)
NAME = word_map(_NAMES)
TIME = {concept: phrase_of_time(normalize("NFC", spec)) for concept, spec in _TIMES.items()}
WORDS = citation_forms(
    {concept: noun.direct[0] for concept, noun in NOUN.items()},
    {concept: _infinitive(verb) for concept, verb in VERB.items()},
    _ADJECTIVE,
    MANNER_WORD,
    DETERMINER,
    NAME,
    times=TIME,
)


# ---- grammar ----

_IS = ("है", "हैं", "है", "हैं")
_WAS = ("था", "थे", "थी", "थीं")
_WILL_BE = ("होगा", "होंगे", "होगी", "होंगी")
_BE = {"past": (_WAS, "था"), "present": (_IS, "है"), "future": (_WILL_BE, "हो")}  # forms and lemma
_OBLIQUE = {"यह": "इस", "ये": "इन", "कोई": "किसी"}
_WHO = {"": "कौन", "ने": "किसने", "को": "किसे", "से": "किससे", "का": "किसका", "की": "किसकी"}
_MALE_SINGULAR = 0  # agreement without a controller, and with कौन and क्या


class Hindi(ToyLanguage):
    """[time] subject [time] companion place recipient manner object light-word नहीं verb auxiliary; questions alike."""

    code: ClassVar[str] = "hi"
    name: ClassVar[str] = "Hindi"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realize(self, scene: Scene) -> ToySentence:
        """Return the statement of a scene with its gold annotation."""
        return finish(_clause(scene, ""), "।")

    def question(self, scene: Scene, role: str) -> ToySentence:
        """Return the question whose answer in the statement is `role`."""
        return finish(_clause(scene, role), "?")


def _clause(scene: Scene, wh_role: str) -> list[Token]:
    """Return a statement, or with `wh_role` a question with the question word in place (no movement)."""
    if scene.predicate == "be":
        root, predicate = _state(scene, wh_role)
        mark = ""
    else:
        verb = _lexeme(scene, wh_role)
        root = Token(verb.stem, verb.stem, "VERB", PREDICATE, "root")
        predicate = _event(scene, verb, root, wh_role)
        perfect = scene.tense == "past" and not verb.habitual
        mark = "को" if verb.dative else "ने" if verb.ergative and perfect else ""
    subject = _participant(scene.subject, "subject", "nsubj", root, mark, wh_role)
    time: list[Token] = []
    if wh_role == "time":
        time = [Token("कब", "कब", "ADV", QUESTION, "advmod", root)]
    elif scene.time:
        time = time_tokens(TIME[scene.time], root)
    return [*time, *subject, *predicate] if scene.fronted and not wh_role else [*subject, *time, *predicate]


def _lexeme(scene: Scene, wh_role: str) -> _Verb:
    """Return the verb; some depend on the object: visiting persons and buildings, drinking soup."""
    if scene.object and scene.predicate == "visit" and scene.object.person:
        return VERB["visit_person"]
    soup = scene.predicate == "eat" and scene.object and scene.object.head == "soup" and wh_role != "object"
    return VERB["eat_soup" if soup else scene.predicate]


def _state(scene: Scene, wh_role: str) -> tuple[Token, list[Token]]:
    """Return the root and predicate of "be": quality, category or place, then नहीं and the copula."""
    agreement = _MALE_SINGULAR if wh_role == "subject" else _agreement(scene.subject)
    if scene.quality:
        root, tokens = _quality(scene.quality, scene.subject, agreement, QUALITY, None)
    elif scene.category:
        form = NOUN[scene.category].direct[0]
        root = Token(form, form, "NOUN", CATEGORY, "root")
        tokens = [root]
    elif wh_role == "place" or scene.place is None:
        root = Token("कहाँ", "कहाँ", "ADV", QUESTION, "root")
        tokens = [root]
    else:
        tokens = _phrase(scene.place, "place", "root", None, _at(scene.place))
        root = next(token for token in tokens if token.head is None)
    forms, lemma = _BE[scene.tense]
    copula = Token(forms[agreement], lemma, "AUX", (*COPULA, *TENSE), "cop", root)
    return root, [*tokens, *_not(scene, root), copula]


def _event(scene: Scene, verb: _Verb, root: Token, wh_role: str) -> list[Token]:
    """Return everything after subject and time."""
    tokens: list[Token] = []
    light = Token(verb.light, verb.light, "ADJ" if verb.gender == "-" else "NOUN", PREDICATE, "compound", root)
    if scene.companion:
        tokens += _participant(scene.companion, "companion", "obl", root, "के साथ", wh_role)
    if scene.place and scene.predicate != "arrive":
        tokens += _somewhere(scene.place, "place", root, _at(scene.place), wh_role)
    if scene.recipient:
        mark = "के लिए" if scene.predicate == "bring" else "को"
        tokens += _participant(scene.recipient, "recipient", "iobj" if mark == "को" else "obl", root, mark, wh_role)
    if scene.manner:
        tokens += _manner(scene.manner, root)
    if scene.object:
        tokens += _object(scene, scene.object, verb, light, root, wh_role)
    if scene.place and scene.predicate == "arrive":
        tokens += _somewhere(scene.place, "place", root, "", wh_role)
    if scene.goal:
        owned = scene.predicate == "travel"  # "बर्लिन की यात्रा"
        tokens += _somewhere(scene.goal, "goal", light if owned else root, _to(scene.goal, scene.predicate), wh_role)
    tokens += [light] if verb.light else []
    return [*tokens, *_not(scene, root), root, *_finite(scene, verb, root, wh_role)]


def _object(scene: Scene, thing: Phrase, verb: _Verb, light: Token, root: Token, wh_role: str) -> list[Token]:
    """Return the object; under negation, "a" is कोई. The object of a light noun ("नीना की मदद") depends on it."""
    mark = _object_mark(thing, verb, wh_role)
    if scene.negated and thing.determiner == "a":
        thing = thing._replace(determiner="no")
    if mark in ("का", "की"):
        return _participant(thing, "object", "nmod", light, mark, wh_role)
    return _participant(thing, "object", "obl" if mark == "से" else "obj", root, mark, wh_role)


def _finite(scene: Scene, verb: _Verb, root: Token, wh_role: str) -> list[Token]:
    """Inflect the root, and return the auxiliary after it."""
    agreement = _controller(scene, verb, wh_role)
    if verb.stem == "चाहिए":  # needed: has no forms of its own
        if scene.tense == "present":
            root.roles = (*PREDICATE, *TENSE)
            return []
        forms, lemma = _BE[scene.tense]
        return [Token(forms[agreement], lemma, "AUX", TENSE, "aux", root)]
    if scene.tense == "present" or (scene.tense == "past" and verb.habitual):
        root.form = verb.imperfect[agreement]
        forms, lemma = _BE[scene.tense]
        return [Token(forms[agreement], lemma, "AUX", TENSE, "aux", root)]
    root.form = (verb.perfect if scene.tense == "past" else verb.future)[agreement]
    root.roles = (*PREDICATE, *TENSE)
    return []


def _controller(scene: Scene, verb: _Verb, wh_role: str) -> int:
    """Return the agreement of the verb: with the subject, or with the object if only the subject has a postposition."""
    if not verb.dative and not (verb.ergative and scene.tense == "past"):
        return _MALE_SINGULAR if wh_role == "subject" else _agreement(scene.subject)
    if verb.gender in ("m", "f"):
        return 2 * (verb.gender == "f")
    thing = scene.object
    if thing is None or wh_role == "object" or _object_mark(thing, verb, wh_role):
        return _MALE_SINGULAR
    return _agreement(thing)


def _agreement(phrase: Phrase) -> int:
    feminine = phrase.gender == "f" if phrase.named else NOUN[phrase.head].feminine
    return 2 * feminine + phrase.plural


def _not(scene: Scene, root: Token) -> list[Token]:
    """Return नहीं, also with a subject with "no" (कोई)."""
    return [Token("नहीं", "नहीं", "PART", NEGATION, "advmod", root)] if scene.denied else []


def _object_mark(thing: Phrase, verb: _Verb, wh_role: str) -> str:
    if verb.case == "का":
        return "की" if verb.gender == "f" else "का"
    if verb.case or verb.dative:
        return verb.case
    animal = thing.head in NOUNS and "animal" in NOUNS[thing.head].tags
    if animal and wh_role != "object":
        return "को" if not verb.bare and (thing.definite or thing.determiner == "every") else ""
    return "को" if thing.person else ""


def _at(place: Phrase) -> str:
    return "पर" if place.head in ON else "में"


def _to(goal: Phrase, predicate: str) -> str:
    if predicate == "travel":
        return "की"
    return "तक" if predicate == "run" else TO.get(goal.head, "")


def _manner(manner: str, root: Token) -> list[Token]:
    word, _, mark = MANNER_WORD[manner].partition(" ")
    if not mark:
        return [Token(word, word, "ADV", MANNER, "advmod", root)]
    noun = Token(word, word, "NOUN", MANNER, "obl", root)
    return [noun, Token(mark, mark, "ADP", MANNER, "case", noun)]


def _participant(phrase: Phrase, role: str, deprel: str, head: Token, mark: str, wh_role: str) -> list[Token]:
    """Return a phrase with its postpositions, or its question word in their case."""
    if wh_role == role + ".count":
        return _phrase(phrase, role, deprel, head, mark, counted=True)
    if wh_role != role:
        return _phrase(phrase, role, deprel, head, mark)
    if not phrase.person and mark in ("", "को") and phrase.head in NOUNS:
        animal = "animal" in NOUNS[phrase.head].tags
        if not (animal and mark):
            return [Token("क्या", "क्या", "PRON", QUESTION, deprel, head)]
    first, _, second = mark.partition(" ")
    who = Token("किसके" if second else _WHO[first], "कौन", "PRON", QUESTION, deprel, head)
    return [who, Token(second, second, "ADP", QUESTION, "case", who)] if second else [who]


def _somewhere(place: Phrase, role: str, head: Token, mark: str, wh_role: str) -> list[Token]:
    deprel = "nmod" if mark == "की" else "obl"
    if wh_role != role:
        return _phrase(place, role, deprel, head, mark)
    where = Token("कहाँ", "कहाँ", "ADV", QUESTION, deprel if mark in ("की", "तक") else "advmod", head)
    return [where, Token(mark, _lemma(mark), "ADP", QUESTION, "case", where)] if mark in ("की", "तक") else [where]


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, mark: str, *, counted: bool = False
) -> list[Token]:
    """Return a participant: determiner (or कितने), quality, noun, oblique before a postposition."""
    roles = part(role)
    oblique = bool(mark) or role in ("place", "goal")
    if phrase.named:
        tokens = person_or_town(phrase, NAME, role, deprel, head)
        noun = tokens[0]
    else:
        word = NOUN[phrase.head]
        form = (word.oblique if oblique else word.direct)[phrase.plural]
        noun = Token(form, word.direct[0], "NOUN", roles.head, deprel, head)
        tokens = [noun]
        bent = 2 if word.feminine else int(oblique or phrase.plural)
        if phrase.quality:
            tokens = [*_quality(phrase.quality, phrase, bent, roles.quality, noun)[1], noun]
        if counted:
            many = "कितनी" if word.feminine else "कितने"
            tokens.insert(0, Token(many, "कितना", "DET", QUESTION, "det", noun))
        elif phrase.determiner and phrase.determiner != "the":
            tokens.insert(0, _determiner(phrase.determiner, roles.determiner, noun, oblique))
    for form in mark.split():
        tokens.append(Token(form, _lemma(form), "ADP", roles.relation, "case", noun))
    return tokens


def _lemma(mark: str) -> str:
    return "का" if mark in ("की", "के") else mark


def _determiner(determiner: str, roles: tuple[str, ...], noun: Token, oblique: bool) -> Token:
    word = DETERMINER[determiner]
    if determiner in NUMERALS or determiner == "a":
        return Token(word, word, "NUM", roles, "nummod", noun)
    form = _OBLIQUE.get(word, word) if oblique else word
    return Token(form, "यह" if determiner == "these" else word, "DET", roles, "det", noun)


def _quality(
    quality: str, of: Phrase, agreement: int, roles: tuple[str, ...], head: Token | None
) -> tuple[Token, list[Token]]:
    """Return an adjective, with its adverb if it has one. Living beings are बूढ़ा when old, not पुराना."""
    living = of.person or bool(NOUNS[of.head].tags & {"person", "animal"})
    adverb, forms = ADJECTIVE["aged" if quality == "old" and living else quality]
    token = Token(forms[agreement], forms[0], "ADJ", roles, "amod" if head else "root", head)
    return token, [Token(adverb, adverb, "ADV", roles, "advmod", token), token] if adverb else [token]
