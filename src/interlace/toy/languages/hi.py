"""Hindi: verb last, postpositions, oblique forms; ने in the past of most transitives, whose verb follows the object.

A noun without a determiner is "the" one, एक is "a". Persons, and animals one knows of, take को as objects. Singular
persons stay grammatically singular: the plural of respect would be heard as "these" or "many" where number counts.
"""

from typing import NamedTuple

from interlace.toy.concepts import NOUNS, NUMERALS, cells
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import (
    Clause,
    Token,
    Tokens,
    citation_forms,
    entries,
    head_of,
    word_map,
)

# ---- words ----

# masculine singular and plural (of adjectives also oblique), feminine twice
Forms = tuple[
    str,
    str,
    str,
    str,
]


class _Noun(NamedTuple):
    """Direct forms are used alone, oblique ones before a postposition."""

    feminine: bool
    direct: tuple[str, str]  # singular, plural
    oblique: tuple[str, str]


class _Verb(NamedTuple):
    """nominal: the noun or adjective of a conjunct verb ("काम करना"), with "" or the gender its verb agrees with.

    flags: ने (of the subject of the past), dative (the subject takes को, the verb agrees with the object), habitual (a
    state, whose past is the imperfect: जानता था), bare (animal objects are never marked with को).
    """

    stem: str
    nominal: str
    gender: str  # m, f; "-" an adjective, "n" a noun without agreement
    case: str  # the object's postposition: को, से, का; "" if it depends on the object
    flags: frozenset[str]


# class, ending, and what replaces it in the direct plural, the oblique singular and the oblique plural; "-" is nothing.
# Classes: m and f by their ending; a marked masculine (लड़का); i masculine in -इया; y feminine in -इया; x never changes.
_PARADIGMS = """
a ा े े ों | i या ए ए यों | y ा ाँ ा ों | x - - - -
f ी ियाँ ी ियों | f ि ियाँ ि ियों | f ई इयाँ ई इयों | f ू ुएँ ू ुओं | f ा ाएँ ा ाओं | f ँ ँएँ ँ ँओं | f - ें - ों
m ी ी ी ियों | m ि ि ि ियों | m ई ई ई इयों | m ू ू ू ुओं | m ा ा ा ाओं | m ँ ँ ँ ँओं | m - - - ों
"""
# ending of an adjective in the masculine singular, in other masculine forms, in the feminine
_ADJECTIVES = "या ए ई | ा े ी"


def _noun(form: str, kind: str) -> _Noun:
    declension = "m" if kind in ("k", "c") else kind
    for name, *cells_of_row in cells(_PARADIGMS):
        ending, plural, oblique, oblique_plural = [cell.strip("-") for cell in cells_of_row]
        if name == declension and form.endswith(ending):
            break
    stem = form.removesuffix(ending)
    is_feminine = kind in ("c", "f", "y")
    return _Noun(is_feminine, (form, stem + plural), (stem + oblique, stem + oblique_plural))


def _verb(stem: str, *words: str) -> _Verb:
    """Build a verb. words: "light:gender", a postposition, and flags."""
    nominal, _, gender = next((word for word in words if ":" in word), "").partition(":")
    case = next((word for word in words if word in ("को", "से", "का")), "")
    return _Verb(stem, nominal, gender, case, frozenset(words))


# Further classes, declined as m: k kinship and learned words in -ा (राजा); c any gender, here feminine (वैज्ञानिक).
_NOUNS = """
doctor डॉक्टर m | nurse नर्स f | patient मरीज़ m | dentist दंतचिकित्सक c | teacher अध्यापिका f | student विद्यार्थी m
pupil छात्रा f | professor प्रोफ़ेसर m | scientist वैज्ञानिक c | writer लेखक m | journalist पत्रकार c | secretary सचिव c
chef बावर्ची m | waiter बैरा a | baker नानबाई m | farmer किसान m | gardener माली m | shepherd चरवाहा a
fisherman मछुआरा a | sailor नाविक m | captain कप्तान m | pilot पायलट c | driver ड्राइवर m | tourist पर्यटक m
musician संगीतकार m | singer गायिका f | dancer नर्तकी f | painter चित्रकार m | actor अभिनेता k | photographer फ़ोटोग्राफ़र c
engineer इंजीनियर c | mechanic मैकेनिक m | carpenter बढ़ई m | worker मज़दूर m | policeman पुलिसवाला a | judge न्यायाधीश c
lawyer वकील m | thief चोर m | merchant व्यापारी m | customer ग्राहक c | neighbor पड़ोसिन f | guest मेहमान m | mother माँ f
father पिता k | grandmother दादी f | grandfather दादा k | brother भाई m | sister बहन f | boy लड़का a | girl लड़की f
man आदमी m | woman औरत f | king राजा k | queen रानी f | soldier सैनिक m | person व्यक्ति m | animal जानवर m
dog कुत्ता a | cat बिल्ली f | horse घोड़ा a | cow गाय f | sheep भेड़ f | goat बकरी f | pig सूअर m | hen मुर्गी f | duck बत्तख f
mouse चूहा a | rabbit ख़रगोश m | wolf भेड़िया i | bear भालू m | lion शेर m | elephant हाथी m | monkey बंदर m | snake साँप m
frog मेंढक m | bee मधुमक्खी f | eagle उक़ाब m | fish मछली f
apple सेब m | banana केला a | pear नाशपाती f | potato आलू m | tomato टमाटर m | carrot गाजर f | egg अंडा a | cake केक m
bread रोटी f | cheese पनीर m | rice चावल m | meat मांस m | soup सूप m | honey शहद m | chocolate चॉकलेट f | water पानी m
milk दूध m | tea चाय f | coffee कॉफ़ी f | juice रस m | wine वाइन f
book किताब f | letter चिट्ठी f | newspaper अख़बार m | poem कविता f | report रिपोर्ट f | map नक़्शा a | message संदेश m
hammer हथौड़ा a | knife चाकू m | axe कुल्हाड़ी f | saw आरी f | rope रस्सी f | bucket बाल्टी f | ladder सीढ़ी f | key चाबी f
lamp लैंप m | plate प्लेट f | cup प्याला a | spoon चम्मच m | bottle बोतल f | hat टोपी f | coat कोट m | shirt क़मीज़ f
shoe जूता a | dress पोशाक f | scarf स्कार्फ़ m | table मेज़ f | chair कुर्सी f | bed पलंग m | cupboard अलमारी f | door दरवाज़ा a
window खिड़की f | mirror आईना a | car कार f | bicycle साइकिल f | boat नाव f | truck ट्रक m | bus बस f | tractor ट्रैक्टर m
guitar गिटार m | violin वायलिन m | piano पियानो x | flute बाँसुरी f | drum ढोल m | trumpet तुरही f | computer कंप्यूटर m
telephone टेलीफ़ोन m | camera कैमरा a | radio रेडियो x | clock घड़ी f | ball गेंद f | doll गुड़िया y | gift उपहार m
picture चित्र m | statue मूर्ति f | stone पत्थर m | tree पेड़ m | flower फूल m | bag थैला a | box डिब्बा a | umbrella छाता a
basket टोकरी f | ring अँगूठी f | coin सिक्का a | ticket टिकट m | medicine दवा f | bandage पट्टी f | tool औज़ार m
vehicle वाहन m | instrument वाद्ययंत्र m
hospital अस्पताल m | pharmacy दवाख़ाना a | school स्कूल m | university विश्वविद्यालय m | library पुस्तकालय m | office दफ़्तर m
kitchen रसोई f | restaurant भोजनालय m | bakery बेकरी f | market बाज़ार m | shop दुकान f | farm फ़ार्म m | field खेत m
garden बग़ीचा a | forest जंगल m | park पार्क m | lake झील f | river नदी f | beach समुद्रतट m | harbor बंदरगाह m
island द्वीप m | station स्टेशन m | airport हवाईअड्डा a | hotel होटल m | museum संग्रहालय m | theater थिएटर m
workshop कार्यशाला f | factory कारख़ाना a | church गिरजाघर m | street सड़क f | castle क़िला a | house घर m | village गाँव m
"""
NOUN = entries(_noun, _NOUNS)
# concept, stem, then in any order: light word:gender, the object's postposition, flags
_VERBS = """
sleep सो | work कर काम:m ने | laugh हँस | cry रो | dance नाच | sing गा ने | wait कर इंतज़ार:m ने | swim तैर | arrive पहुँच
jump कूद | go जा | travel कर यात्रा:f ने | return लौट | run दौड़ | eat खा ने | drink पी ने | cook पका ने | bake कर बेक:n ने
eat_soup पी ने | buy ख़रीद ने bare | sell बेच ने bare | read पढ़ ने | write लिख ने | see देख ने | find मिल dative | lose खो ने
seek ढूँढ ने | help कर मदद:f का ने | visit कर दौरा:m का ने | visit_person कर मुलाक़ात:f से ने | greet कर अभिवादन:m का ने
call कर फ़ोन:m को ने | invite कर आमंत्रित:- को ने | love कर प्यार:m से habitual | know जान को habitual | need चाहिए dative
follow कर पीछा:m का ने | photograph खींच फ़ोटो:f का ने | paint कर चित्रित:- ने | repair कर मरम्मत:f का ने | clean कर साफ़:- ने
wash धो ने | open खोल ने | close कर बंद:- ने | wear पहन ने | lift उठा ने | push धकेल ने | drive चला ने | play बजा ने | hear सुन ने
build बना ने | cut काट ने | plant रोप ने | feed खिला को ने | catch पकड़ ने bare | steal चुरा ने | hide छिपा ने | forget भूल
heal कर ठीक:- को ने | give दे ने | show दिखा ने | send भेज ने | bring ला
"""
VERB = entries(_verb, _VERBS)
_PERFECT: dict[str, Forms] = {
    "कर": ("किया", "किए", "की", "कीं"),
    "दे": ("दिया", "दिए", "दी", "दीं"),
    "पी": ("पिया", "पिए", "पी", "पीं"),
    "जा": ("गया", "गए", "गई", "गईं"),
}
_FUTURE = {"दे": ("दे", "दें"), "पी": ("पिए", "पिएँ")}
WORD = word_map("""
old पुराना | young जवान | new नया | big बड़ा | small छोटा | long लंबा | short कम लंबा | heavy भारी | expensive महँगा
cheap सस्ता | red लाल | blue नीला | green हरा | white सफ़ेद | black काला | yellow पीला | beautiful सुंदर | ugly भद्दा
happy ख़ुश | sad उदास | tired थका | hungry भूखा | rich अमीर | poor ग़रीब | famous प्रसिद्ध | friendly मिलनसार
strong ताक़तवर | weak कमज़ोर | clean_quality स्वच्छ | dirty गंदा | hot गर्म | cold ठंडा | fresh ताज़ा | sweet मीठा
empty ख़ाली | full भरा | dangerous ख़तरनाक | aged बूढ़ा
slowly धीरे-धीरे | quickly जल्दी | quietly चुपचाप | loudly ज़ोर से | carefully ध्यान से | happily ख़ुशी से | patiently धैर्य से
secretly चुपके से
two दो | three तीन | four चार | five पाँच | six छह | seven सात | eight आठ | nine नौ | ten दस
the वह | a एक | this यह | these ये | many कई | some कुछ | every हर | no कोई
anna अन्ना | peter पीटर | maria मारिया | thomas थॉमस | elena एलेना | daniel डेनियल | sara सारा | david डेविड | laura लौरा
martin मार्टिन | julia जूलिया | robert रॉबर्ट | sofia सोफ़िया | leo लियो | nina नीना | omar उमर
weber वेबर | silva सिल्वा | kaya काया | sharma शर्मा | chen चेन | smith स्मिथ | moreno मोरेनो | novak नोवाक | rossi रोसी
haddad हद्दाद
berlin बर्लिन | london लंदन | paris पेरिस | madrid मैड्रिड | istanbul इस्तांबुल | vienna वियना | rome रोम | moscow मॉस्को
beijing बीजिंग | new_delhi नई दिल्ली | tokyo टोक्यो | cairo काहिरा
""")  # the first word of "कम लंबा", less long, is an adverb; it distinguishes the short rope from the small one
# कल alone is yesterday and tomorrow; the first two say which
TIME = word_map("""
yesterday बीते/बीता/ADJ/w कल/NOUN/u | tomorrow आनेवाले/आनेवाला/ADJ/w कल/NOUN/u | today आज/ADV/wu
now अभी/ADV/wu | every_day हर/DET/w दिन/NOUN/u | every_morning हर/DET/w सुबह/NOUN/u
last_week पिछले/पिछला/ADJ/w हफ़्ते/हफ़्ता/NOUN/u | next_week अगले/अगला/ADJ/w हफ़्ते/हफ़्ता/NOUN/u
last_month पिछले/पिछला/ADJ/w महीने/महीना/NOUN/u | next_month अगले/अगला/ADJ/w महीने/महीना/NOUN/u
last_year पिछले/पिछला/ADJ/w साल/NOUN/u | next_year अगले/अगला/ADJ/w साल/NOUN/u
last_monday पिछले/पिछला/ADJ/w सोमवार/NOUN/u को/ADP/-
next_monday अगले/अगला/ADJ/w सोमवार/NOUN/u को/ADP/-
last_friday पिछले/पिछला/ADJ/w शुक्रवार/NOUN/u को/ADP/-
next_friday अगले/अगला/ADJ/w शुक्रवार/NOUN/u को/ADP/-
last_summer पिछली/पिछला/ADJ/w गर्मियों/गर्मी/NOUN/u में/ADP/-
next_summer अगली/अगला/ADJ/w गर्मियों/गर्मी/NOUN/u में/ADP/-
last_winter पिछली/पिछला/ADJ/w सर्दियों/सर्दी/NOUN/u में/ADP/-
next_winter अगली/अगला/ADJ/w सर्दियों/सर्दी/NOUN/u में/ADP/-
""")
ON = frozenset("station airport harbor beach island street farm".split())  # पर, the others में
# directions: most places and all towns have no postposition, these have one
TO = word_map("""
field में | garden में | forest में | kitchen में | workshop में | lake पर | river पर | beach पर | island पर | street पर
farm पर
""")
WORDS = citation_forms(
    {concept: noun.direct[0] for concept, noun in NOUN.items()},
    {concept: f"{verb.nominal} {verb.stem}ना".strip() for concept, verb in VERB.items()},
    WORD,
    {"need": VERB["need"].stem},
    times=TIME,
)


# ---- grammar ----

_IS = ("है", "हैं", "है", "हैं")
_WAS = ("था", "थे", "थी", "थीं")
_WILL_BE = ("होगा", "होंगे", "होगी", "होंगी")
# forms and lemma
_BE = {
    "past": (_WAS, "था"),
    "present": (_IS, "है"),
    "future": (_WILL_BE, "हो"),
}
_OBLIQUE = {"यह": "इस", "ये": "इन", "कोई": "किसी"}
_WHO = {"": "कौन", "ने": "किसने", "को": "किसे", "से": "किससे", "का": "किसका", "की": "किसकी"}
_IMPERFECT = ("ता", "ते", "ती", "ती")


def _perfect(stem: str) -> Forms:
    if stem in _PERFECT:
        return _PERFECT[stem]
    if stem.endswith(("ा", "ो")):
        return stem + "या", stem + "ए", stem + "ई", stem + "ईं"
    return stem + "ा", stem + "े", stem + "ी", stem + "ीं"


def _future(stem: str) -> Forms:
    if stem in _FUTURE:
        singular, plural = _FUTURE[stem]
    elif stem.endswith(("ा", "ो")):
        singular = stem + "ए"
        plural = stem + "एँ"
    else:
        singular = stem + "े"
        plural = stem + "ें"
    return singular + "गा", plural + "गे", singular + "गी", plural + "गी"


def _agreeing(form: str) -> Forms:
    """Return the forms of an adjective: masculine direct, oblique and plural, feminine twice; only -ा changes."""
    for ending, masculine, feminine in cells(_ADJECTIVES):
        if form.endswith(ending):
            stem = form.removesuffix(ending)
            return form, stem + masculine, stem + feminine, stem + feminine
    return form, form, form, form


class _Clause(Clause):
    """nominal: of a conjunct verb, on which its object or goal may depend (नीना की मदद, बर्लिन की यात्रा)."""

    times = TIME
    when_word = "कब"
    moves = False
    adpositions = {"companion": "के साथ"}
    nominal: Token
    verb: _Verb | None = None

    def tokens(self) -> Tokens:
        scene = self.scene
        if scene.predicate == "be":
            predicate = self.state()
        else:
            predicate = self.event()
        subject = self.parts("subject")
        time = self.parts("time")
        if scene.fronted and not self.wh_role:
            return [*time, *subject, *predicate]
        return [*subject, *time, *predicate]

    def state(self) -> Tokens:
        """Return the predicate of "be", नहीं and the copula."""
        predicate = self.predicate()
        forms, lemma = _BE[self.scene.tense]
        copula = Token(forms[self.agreement()], "AUX", "copula tense", "cop", lemma=lemma)
        return [*predicate, *self.negation(), copula]

    def quality(self) -> Tokens:
        scene = self.scene
        return _quality(scene.quality, scene.subject, self.agreement(), "quality", None)

    def event(self) -> Tokens:
        """Return everything after subject and time."""
        predicate = self.scene.predicate
        thing = self.scene.object
        if predicate == "visit" and thing and thing.person:
            predicate = "visit_person"
        elif predicate == "eat" and thing and thing.head == "soup" and self.wh_role != "object":
            predicate = "eat_soup"
        verb = self.verb = VERB[predicate]
        self.root = Token(verb.stem, "VERB", "predicate")
        upos = "ADJ" if verb.gender == "-" else "NOUN"
        self.nominal = Token(verb.nominal, upos, "predicate", "compound", self.root)
        if self.scene.predicate == "arrive":
            tokens = self.parts("companion recipient manner object place")
        else:
            tokens = self.parts("companion place recipient manner object goal")
        if verb.nominal:
            tokens.append(self.nominal)
        return [*tokens, *self.negation(), self.root, *self.finite(verb)]

    def adposition(self, role: str, phrase: Phrase) -> str:
        predicate = self.scene.predicate
        if role == "subject" and self.verb:
            return self.subject_case(self.verb)
        if role == "object" and self.verb:
            return self.object_case(self.verb, phrase)
        if role == "place" and predicate != "arrive":
            return "पर" if phrase.head in ON else "में"
        if role == "recipient":
            return "के लिए" if predicate == "bring" else "को"
        if role == "goal":
            return {"travel": "की", "run": "तक"}.get(predicate) or TO.get(phrase.head, "")
        return super().adposition(role, phrase)

    def subject_case(self, verb: _Verb) -> str:
        if "dative" in verb.flags:
            return "को"
        if "ने" in verb.flags and self.scene.tense == "past":
            return "ने"
        return ""

    def object_case(self, verb: _Verb, thing: Phrase) -> str:
        if verb.case == "का":
            return "की" if verb.gender == "f" else "का"
        if verb.case or "dative" in verb.flags:
            return verb.case
        if _is_animal(thing) and self.wh_role != "object":
            is_identified = thing.definite or thing.determiner == "every"
            return "को" if is_identified and "bare" not in verb.flags else ""
        return "को" if thing.person else ""

    def relation(self, role: str, adposition: str) -> str:
        if adposition in ("का", "की"):
            return "nmod"
        if adposition in ("से", "के लिए"):
            return "obl"
        return super().relation(role, adposition)

    def realized(self, role: str) -> Tokens:
        tokens = super().realized(role)
        head = head_of(tokens)
        if head.deprel == "nmod":
            head.head = self.nominal
        return tokens

    def finite(self, verb: _Verb) -> Tokens:
        """Inflect the root, and return the auxiliary after it."""
        root = self.root
        tense = self.scene.tense
        agreement = self.agreement()
        auxiliary = tense == "present" or (tense == "past" and "habitual" in verb.flags)
        if verb.stem == "चाहिए":  # needed: has no forms of its own
            auxiliary = tense != "present"
        elif auxiliary:
            root.form = verb.stem + _IMPERFECT[agreement]
        elif tense == "past":
            root.form = _perfect(verb.stem)[agreement]
        else:
            root.form = _future(verb.stem)[agreement]
        if auxiliary:
            forms, lemma = _BE[tense]
            return [Token(forms[agreement], "AUX", "tense", "aux", lemma=lemma)]
        root.roles = "predicate tense"
        return []

    def agreement(self) -> int:
        """Return the agreement with the subject, or with the object if only the subject has a postposition."""
        role = "subject"
        if self.verb and self.subject_case(self.verb):
            if self.verb.gender in ("m", "f"):
                return 2 * (self.verb.gender == "f")
            role = "object"
        phrase: Phrase | None = getattr(self.scene, role)
        if phrase is None or role == self.wh_role:
            return 0  # masculine singular: no controller, or कौन and क्या
        if role == "object" and self.adposition(role, phrase):
            return 0
        if phrase.named:
            return 2 * (phrase.gender == "f")
        return 2 * NOUN[phrase.head].feminine + phrase.plural

    def negation(self) -> Tokens:
        """Return नहीं, also with a subject with "no" (कोई)."""
        if self.scene.denied:
            return [Token("नहीं", "PART", "negation", "advmod")]
        return []

    def manner(self) -> Tokens:
        word, _, postposition = self.words[self.scene.manner].partition(" ")
        if not postposition:
            return super().manner()
        noun = Token(word, "NOUN", "manner", "obl")
        return [noun, Token(postposition, "ADP", "manner", "case", noun)]

    def question_words(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        """Return कहाँ, क्या or a form of कौन, with the postposition."""
        if role in ("place", "goal"):
            where = Token("कहाँ", "ADV", "question")
            if adposition in ("की", "तक"):
                return [
                    where,
                    Token(adposition, "ADP", "question", "case", where, _lemma(adposition)),
                ]
            where.deprel = "advmod"
            return [where]
        # things take no को
        has_case = adposition and (adposition != "को" or _is_animal(phrase))
        if not has_case and not phrase.person:
            return [Token("क्या", "PRON", "question")]
        _, _, noun = adposition.partition(" ")
        if not noun:
            return [Token(_WHO[adposition], "PRON", "question", lemma="कौन")]
        who = Token("किसके", "PRON", "question", lemma="कौन")
        return [who, Token(noun, "ADP", "question", "case", who)]

    def phrase(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        """Return determiner (or कितने), quality, noun, oblique before a postposition."""
        if phrase.named:
            return self.named(phrase, role)
        oblique = bool(adposition) or role in ("place", "goal")
        word = NOUN[phrase.head]
        form = (word.oblique if oblique else word.direct)[phrase.plural]
        noun = Token(form, "NOUN", ".head", lemma=word.direct[0])
        tokens = [noun]
        if phrase.quality:
            agreement = 2 if word.feminine else int(oblique or phrase.plural)
            tokens = [*_quality(phrase.quality, phrase, agreement, ".quality", noun), noun]
        determiner = phrase.determiner
        if role == "object" and self.scene.negated and determiner == "a":
            determiner = "no"
        if self.counts(role):
            form = "कितनी" if word.feminine else "कितने"
            tokens.insert(0, Token(form, "DET", "question", "det", noun, "कितना"))
        elif determiner in ("a", *NUMERALS):
            tokens.insert(0, Token(WORD[determiner], "NUM", ".determiner", "nummod", noun))
        elif determiner not in ("", "the"):
            form = WORD[determiner]
            lemma = form.replace("ये", "यह")
            if oblique:
                form = _OBLIQUE.get(form, form)
            tokens.insert(0, Token(form, "DET", ".determiner", "det", noun, lemma))
        return tokens

    def with_adposition(self, tokens: Tokens, adposition: str) -> Tokens:
        """Return a phrase with its postpositions; question words have theirs."""
        head = head_of(tokens)
        if head.roles == "question":
            return tokens
        for form in adposition.split():
            tokens.append(Token(form, "ADP", ".relation", "case", head, _lemma(form)))
        return tokens


def _is_animal(phrase: Phrase) -> bool:
    return not phrase.named and "animal" in NOUNS[phrase.head].tags


def _lemma(postposition: str) -> str:
    return "का" if postposition in ("की", "के") else postposition


def _quality(
    quality: str,
    of: Phrase,
    agreement: int,
    roles: str,
    head: Token | None,
) -> Tokens:
    """Return an adjective, with its adverb if it has one. Living beings are बूढ़ा when old, not पुराना."""
    living = of.person or bool(NOUNS[of.head].tags & {"person", "animal"})
    adverb, _, lemma = WORD["aged" if quality == "old" and living else quality].rpartition(" ")
    token = Token(_agreeing(lemma)[agreement], "ADJ", roles, "amod", head, lemma)
    if adverb:
        return [Token(adverb, "ADV", roles, "advmod", token), token]
    return [token]


class Hindi(ToyLanguage):
    """[time] subject [time] companion place recipient manner object light-word नहीं verb auxiliary; questions alike."""

    name = "Hindi"
    words = WORDS
    clause = _Clause
    stop = "।"
