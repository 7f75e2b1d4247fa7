"""German: verb second, three genders, four endings a case, separable verbs, nicht and kein."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from interlace.toy.concepts import GIVEN, NOUNS, NUMERALS, SURNAMES, TOWNS
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
    Roles,
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


class _Noun(NamedTuple):
    """weak: every singular form but the nominative equals the plural (den Studenten)."""

    singular: str
    gender: str  # m, f, n
    plural: str
    weak: bool


class _Verb(NamedTuple):
    """dative: the object's case; particle: what a separable verb leaves at the end."""

    infinitive: str
    third: str
    past: str
    particle: str
    dative: bool


# concept, singular, gender (w: masculine and weak), plural
_NOUNS = """
doctor Arzt m Ärzte | nurse Krankenschwester f Krankenschwestern | patient Patient w Patienten
dentist Zahnärztin f Zahnärztinnen | teacher Lehrerin f Lehrerinnen | student Student w Studenten
pupil Schülerin f Schülerinnen | professor Professor m Professoren
scientist Wissenschaftlerin f Wissenschaftlerinnen
writer Schriftsteller m Schriftsteller | journalist Journalistin f Journalistinnen
secretary Sekretärin f Sekretärinnen
chef Koch m Köche | waiter Kellner m Kellner | baker Bäcker m Bäcker | farmer Bauer w Bauern
gardener Gärtner m Gärtner | shepherd Schäfer m Schäfer | fisherman Fischer m Fischer | sailor Matrose w Matrosen
captain Kapitän m Kapitäne | pilot Pilotin f Pilotinnen | driver Fahrer m Fahrer | tourist Tourist w Touristen
musician Musiker m Musiker | singer Sängerin f Sängerinnen | dancer Tänzerin f Tänzerinnen | painter Maler m Maler
actor Schauspieler m Schauspieler | photographer Fotografin f Fotografinnen | engineer Ingenieurin f Ingenieurinnen
mechanic Mechaniker m Mechaniker | carpenter Zimmermann m Zimmerleute | worker Arbeiter m Arbeiter
policeman Polizist w Polizisten | judge Richterin f Richterinnen | lawyer Anwalt m Anwälte | thief Dieb m Diebe
merchant Händler m Händler | customer Kundin f Kundinnen | neighbor Nachbarin f Nachbarinnen | guest Gast m Gäste
mother Mutter f Mütter | father Vater m Väter | grandmother Großmutter f Großmütter
grandfather Großvater m Großväter
brother Bruder m Brüder | sister Schwester f Schwestern | boy Junge w Jungen | girl Mädchen n Mädchen
man Mann m Männer | woman Frau f Frauen | king König m Könige | queen Königin f Königinnen | soldier Soldat w Soldaten
person Mensch w Menschen | animal Tier n Tiere
dog Hund m Hunde | cat Katze f Katzen | horse Pferd n Pferde | cow Kuh f Kühe | sheep Schaf n Schafe
goat Ziege f Ziegen | pig Schwein n Schweine | hen Huhn n Hühner | duck Ente f Enten | mouse Maus f Mäuse
rabbit Kaninchen n Kaninchen | wolf Wolf m Wölfe | bear Bär w Bären | lion Löwe w Löwen | elephant Elefant w Elefanten
monkey Affe w Affen | snake Schlange f Schlangen | frog Frosch m Frösche | bee Biene f Bienen | eagle Adler m Adler
fish Fisch m Fische
apple Apfel m Äpfel | banana Banane f Bananen | pear Birne f Birnen | potato Kartoffel f Kartoffeln
tomato Tomate f Tomaten | carrot Karotte f Karotten | egg Ei n Eier | cake Kuchen m Kuchen | bread Brot n Brote
cheese Käse m Käse | rice Reis m Reis | meat Fleisch n Fleisch | soup Suppe f Suppen | honey Honig m Honige
chocolate Schokolade f Schokoladen | water Wasser n Wasser | milk Milch f Milch | tea Tee m Tees
coffee Kaffee m Kaffees | juice Saft m Säfte | wine Wein m Weine
book Buch n Bücher | letter Brief m Briefe | newspaper Zeitung f Zeitungen | poem Gedicht n Gedichte
report Bericht m Berichte | map Landkarte f Landkarten | message Nachricht f Nachrichten
hammer Hammer m Hämmer | knife Messer n Messer | axe Axt f Äxte | saw Säge f Sägen | rope Seil n Seile
bucket Eimer m Eimer | ladder Leiter f Leitern | key Schlüssel m Schlüssel | lamp Lampe f Lampen
plate Teller m Teller | cup Tasse f Tassen | spoon Löffel m Löffel | bottle Flasche f Flaschen
hat Hut m Hüte | coat Mantel m Mäntel | shirt Hemd n Hemden | shoe Schuh m Schuhe | dress Kleid n Kleider
scarf Schal m Schals | table Tisch m Tische | chair Stuhl m Stühle | bed Bett n Betten | cupboard Schrank m Schränke
door Tür f Türen | window Fenster n Fenster | mirror Spiegel m Spiegel | car Auto n Autos
bicycle Fahrrad n Fahrräder | boat Boot n Boote | truck Lastwagen m Lastwagen | bus Bus m Busse
tractor Traktor m Traktoren | guitar Gitarre f Gitarren | violin Geige f Geigen | piano Klavier n Klaviere
flute Flöte f Flöten | drum Trommel f Trommeln | trumpet Trompete f Trompeten | computer Computer m Computer
telephone Telefon n Telefone | camera Kamera f Kameras | radio Radio n Radios | clock Uhr f Uhren | ball Ball m Bälle
doll Puppe f Puppen | gift Geschenk n Geschenke | picture Bild n Bilder | statue Statue f Statuen
stone Stein m Steine
tree Baum m Bäume | flower Blume f Blumen | bag Tasche f Taschen | box Kiste f Kisten
umbrella Regenschirm m Regenschirme | basket Korb m Körbe | ring Ring m Ringe | coin Münze f Münzen
ticket Fahrkarte f Fahrkarten | medicine Medizin f Medizinen | bandage Verband m Verbände
tool Werkzeug n Werkzeuge | vehicle Fahrzeug n Fahrzeuge | instrument Instrument n Instrumente
hospital Krankenhaus n Krankenhäuser | pharmacy Apotheke f Apotheken | school Schule f Schulen
university Universität f Universitäten | library Bibliothek f Bibliotheken | office Büro n Büros
kitchen Küche f Küchen
restaurant Restaurant n Restaurants | bakery Bäckerei f Bäckereien | market Markt m Märkte | shop Laden m Läden
farm Bauernhof m Bauernhöfe | field Feld n Felder | garden Garten m Gärten | forest Wald m Wälder | park Park m Parks
lake See m Seen | river Fluss m Flüsse | beach Strand m Strände | harbor Hafen m Häfen | island Insel f Inseln
station Bahnhof m Bahnhöfe | airport Flughafen m Flughäfen | hotel Hotel n Hotels | museum Museum n Museen
theater Theater n Theater | workshop Werkstatt f Werkstätten | factory Fabrik f Fabriken | church Kirche f Kirchen
street Straße f Straßen | castle Schloss n Schlösser | house Haus n Häuser | village Dorf n Dörfer
"""
# concept, infinitive (particle|verb), third person, past; "dative" if the object is in the dative
_VERBS = """
sleep schlafen schläft schlief | work arbeiten arbeitet arbeitete | laugh lachen lacht lachte | cry weinen weint weinte
dance tanzen tanzt tanzte | sing singen singt sang | wait warten wartet wartete | swim schwimmen schwimmt schwamm
arrive an+kommen kommt kam | jump springen springt sprang | go gehen geht ging | travel reisen reist reiste
return zurück+kehren kehrt kehrte | run rennen rennt rannte | eat essen isst aß | drink trinken trinkt trank
cook kochen kocht kochte | bake backen backt backte | buy kaufen kauft kaufte | sell verkaufen verkauft verkaufte
read lesen liest las | write schreiben schreibt schrieb | see sehen sieht sah | find finden findet fand
lose verlieren verliert verlor | seek suchen sucht suchte | help helfen hilft half dative
visit besuchen besucht besuchte | greet grüßen grüßt grüßte | call an+rufen ruft rief | invite ein+laden lädt lud
love lieben liebt liebte | know kennen kennt kannte | need brauchen braucht brauchte
follow folgen folgt folgte dative | photograph fotografieren fotografiert fotografierte | paint malen malt malte
repair reparieren repariert reparierte | clean putzen putzt putzte | wash waschen wäscht wusch
open öffnen öffnet öffnete | close schließen schließt schloss | wear tragen trägt trug | lift heben hebt hob
push schieben schiebt schob | drive fahren fährt fuhr | play spielen spielt spielte | hear hören hört hörte
build bauen baut baute | cut schneiden schneidet schnitt | plant pflanzen pflanzt pflanzte
feed füttern füttert fütterte | catch fangen fängt fing | steal stehlen stiehlt stahl
hide verstecken versteckt versteckte | forget vergessen vergisst vergaß | heal heilen heilt heilte
give geben gibt gab | show zeigen zeigt zeigte | send schicken schickt schickte | bring bringen bringt brachte
"""
_ADJECTIVES = """
old alt | young jung | new neu | big groß | small klein | long lang | short kurz | heavy schwer | expensive teuer
cheap billig | red rot | blue blau | green grün | white weiß | black schwarz | yellow gelb | beautiful schön
ugly hässlich | happy glücklich | sad traurig | tired müde | hungry hungrig | rich reich | poor arm | famous berühmt
friendly freundlich | strong stark | weak schwach | clean_quality sauber | dirty schmutzig | hot heiß | cold kalt
fresh frisch | sweet süß | empty leer | full voll | dangerous gefährlich
"""
STEMS = {"teuer": "teur", "müde": "müd"}  # before an ending
_MANNERS = """
slowly langsam | quickly schnell | quietly leise | loudly laut | carefully sorgfältig | happily fröhlich
patiently geduldig | secretly heimlich
"""
_NUMERALS = """
two zwei | three drei | four vier | five fünf | six sechs | seven sieben | eight acht | nine neun | ten zehn
the der | a ein | this dieser | these dieser | many viele | some einige | every jeder | no kein
"""
_TOWNS = """
berlin Berlin | london London | paris Paris | madrid Madrid | istanbul Istanbul | vienna Wien | rome Rom
moscow Moskau | beijing Peking | new_delhi Neu-Delhi | tokyo Tokio | cairo Kairo
"""
# location (dative) and direction (accusative, or zu with the dative); missing: in, in
PLACES = {
    "market": ("auf", "auf"), "farm": ("auf", "auf"), "field": ("auf", "auf"), "lake": ("an", "an"),
    "river": ("an", "an"), "beach": ("an", "an"), "island": ("auf", "auf"), "station": ("an", "zu"),
    "airport": ("an", "zu"), "street": ("auf", "auf"), "harbor": ("in", "zu"), "university": ("an", "an"),
}  # fmt: skip
_TIMES = {
    "yesterday": "gestern/=/ADV/wu", "last_week": "letzte/letzter/ADJ/w Woche/=/NOUN/u",
    "last_month": "letzten/letzter/ADJ/w Monat/=/NOUN/u", "last_year": "letztes/letzter/ADJ/w Jahr/=/NOUN/u",
    "last_summer": "letzten/letzter/ADJ/w Sommer/=/NOUN/u", "last_winter": "letzten/letzter/ADJ/w Winter/=/NOUN/u",
    "last_monday": "letzten/letzter/ADJ/w Montag/=/NOUN/u", "last_friday": "letzten/letzter/ADJ/w Freitag/=/NOUN/u",
    "today": "heute/=/ADV/wu", "now": "jetzt/=/ADV/wu", "every_day": "jeden/jeder/DET/w Tag/=/NOUN/u",
    "every_morning": "jeden/jeder/DET/w Morgen/=/NOUN/u", "tomorrow": "morgen/=/ADV/wu",
    "next_week": "nächste/nächster/ADJ/w Woche/=/NOUN/u", "next_month": "nächsten/nächster/ADJ/w Monat/=/NOUN/u",
    "next_year": "nächstes/nächster/ADJ/w Jahr/=/NOUN/u", "next_summer": "nächsten/nächster/ADJ/w Sommer/=/NOUN/u",
    "next_winter": "nächsten/nächster/ADJ/w Winter/=/NOUN/u", "next_monday": "nächsten/nächster/ADJ/w Montag/=/NOUN/u",
    "next_friday": "nächsten/nächster/ADJ/w Freitag/=/NOUN/u",
}  # fmt: skip


def _verb(infinitive: str, third: str, past: str, case: str = "") -> _Verb:
    particle, _, verb = infinitive.rpartition("+")
    return _Verb(verb, third, past, particle, case == "dative")


NOUN: dict[str, _Noun] = {
    concept: _Noun(singular, "m" if gender == "w" else gender, plural, gender == "w")
    for concept, singular, gender, plural in cells(_NOUNS)
}
VERB: dict[str, _Verb] = {concept: _verb(*parts) for concept, *parts in cells(_VERBS)}
ADJECTIVE = word_map(_ADJECTIVES)
MANNER_WORD = word_map(_MANNERS)
NUMBER_WORD = word_map(_NUMERALS)
NAME: dict[str, str] = {name: name.title() for name in (*GIVEN, *SURNAMES)} | word_map(_TOWNS)
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
WORDS = citation_forms(
    {concept: noun.singular for concept, noun in NOUN.items()},
    {concept: verb.particle + verb.infinitive for concept, verb in VERB.items()},
    ADJECTIVE,
    MANNER_WORD,
    NUMBER_WORD,
    NAME,
    times=TIME,
)


# ---- grammar ----

# cases: nom acc dat; kinds of noun phrase: m f n p (plural)
_STRONG = {  # endings of der-words, and of adjectives without an article
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
_WEAK = {  # endings of adjectives after der, dieser, jeder
    "nom": {"m": "e", "f": "e", "n": "e", "p": "en"},
    "acc": {"m": "en", "f": "e", "n": "e", "p": "en"},
    "dat": {"m": "en", "f": "en", "n": "en", "p": "en"},
}
_THE = {
    "nom": {"m": "der", "f": "die", "n": "das"},
    "acc": {"m": "den", "f": "die", "n": "das"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
}
_BARE = {("nom", "m"), ("nom", "n"), ("acc", "n")}  # where ein and kein have no ending
_CONTRACTIONS = {
    ("in", "dem"): "im", ("an", "dem"): "am", ("zu", "dem"): "zum", ("zu", "der"): "zur", ("in", "das"): "ins",
    ("an", "das"): "ans",
}  # fmt: skip
_BE = {("past", False): "war", ("past", True): "waren", ("present", False): "ist", ("present", True): "sind"}
_UNKNOWN = {
    "recipient": "wem", "companion": "mit wem", "goal": "wohin", "place": "wo", "time": "wann",
}  # fmt: skip


class German(ToyLanguage):
    """[time | subject] finite-verb [subject] recipient [time] companion place manner object nicht goal rest-of-verb."""

    code: ClassVar[str] = "de"
    name: ClassVar[str] = "German"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realize(self, scene: Scene) -> ToySentence:
        """Return the statement of a scene with its gold annotation."""
        root, predicate = _root(scene)
        subject = _phrase(scene.subject, "subject", "nsubj", root, "nom")
        time = time_tokens(TIME[scene.time], root) if scene.time else []
        finite, last = _verbs(scene, root, scene.subject.plural)
        front, field = (time, subject) if scene.fronted else (subject, [])
        middle = _middle(scene, root, [] if scene.fronted else time)
        return finish([*front, finite, *field, *middle, *predicate, *last])

    def question(self, scene: Scene, role: str) -> ToySentence:
        """Return the question whose answer in the statement is `role`."""
        root, predicate = _root(scene, without=role)
        about, _, count = role.partition(".")
        wh_role = _wh_phrase(scene, role, root)
        time = time_tokens(TIME[scene.time], root) if scene.time and role != "time" else []
        of_subject = about == "subject"
        finite, last = _verbs(scene, root, bool(count) if of_subject else scene.subject.plural)
        field = [] if of_subject else _phrase(scene.subject, "subject", "nsubj", root, "nom")
        return finish([*wh_role, finite, *field, *_middle(scene, root, time, without=about), *predicate, *last], "?")


def _root(scene: Scene, without: str = "") -> tuple[Token, list[Token]]:
    """Return the head of the clause and, for "be", the tokens of its predicate with their negation."""
    if scene.predicate != "be":
        verb = VERB[scene.predicate]
        return Token(verb.infinitive, verb.particle + verb.infinitive, "VERB", PREDICATE, "root"), []
    if scene.quality:
        form = ADJECTIVE[scene.quality]
        root = Token(form, form, "ADJ", QUALITY, "root")
        return root, [*_not(scene, root), root]
    if scene.category:
        noun = NOUN[scene.category]
        root = Token(noun.singular, noun.singular, "NOUN", CATEGORY, "root")
        kein = Token("kein" + _ein("nom", noun.gender), "kein", "DET", NEGATION, "det", root)
        return root, [kein, root] if scene.negated else [root]
    if without == "place" or scene.place is None:  # "Wo ist der Schlüssel?"
        return Token("wo", "wo", "ADV", QUESTION, "root"), []
    phrase = _at(scene.place, root=None)
    root = next(token for token in phrase if token.head is None)
    return root, [*_not(scene, root), *phrase]


def _verbs(scene: Scene, root: Token, plural: bool) -> tuple[Token, list[Token]]:
    """Return the finite verb in second position, and the end of the clause."""
    if scene.predicate == "be":
        if scene.tense == "future":
            return _will(root, plural), [Token("sein", "sein", "AUX", COPULA, "cop", root)]
        return Token(_BE[scene.tense, plural], "sein", "AUX", (*COPULA, *TENSE), "cop", root), []
    verb = VERB[scene.predicate]
    if scene.tense == "future":
        root.form = verb.particle + verb.infinitive
        return _will(root, plural), [root]
    if scene.tense == "past":
        root.form = verb.past + ("" if not plural else "n" if verb.past.endswith("e") else "en")
    else:
        root.form = verb.infinitive if plural else verb.third
    root.roles = (*PREDICATE, *TENSE)
    if not verb.particle:
        return root, []
    return root, [Token(verb.particle, verb.particle, "ADP", PREDICATE, "compound:prt", root)]


def _will(root: Token, plural: bool) -> Token:
    return Token("werden" if plural else "wird", "werden", "AUX", TENSE, "aux", root)


def _not(scene: Scene, root: Token) -> list[Token]:
    return [Token("nicht", "nicht", "PART", NEGATION, "advmod", root)] if scene.negated else []


def _middle(scene: Scene, root: Token, time: list[Token], without: str = "") -> list[Token]:
    """Return the middle field. Nicht follows a definite object, and otherwise precedes places."""
    thing = scene.object if without != "object" else None
    kein = scene.negated and thing is not None and not thing.definite
    denial = _not(scene, root) if scene.predicate != "be" and not kein else []
    early = denial if not thing and not scene.goal else []
    tokens: list[Token] = []
    if scene.recipient and without != "recipient":
        tokens += _phrase(scene.recipient, "recipient", "iobj", root, "dat")
    tokens += time + early
    if scene.companion and without != "companion":
        tokens += _phrase(scene.companion, "companion", "obl", root, "dat", "mit")
    if scene.place and scene.predicate != "be" and without != "place":
        tokens += _at(scene.place, root)
    if scene.manner:
        tokens.append(Token(MANNER_WORD[scene.manner], MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root))
    if thing:
        case = "dat" if VERB[scene.predicate].dative else "acc"
        tokens += _phrase(thing, "object", "obj", root, case, kein=kein)
    tokens += denial if not early else []
    if scene.goal and without != "goal":
        tokens += _to(scene.goal, root)
    return tokens


def _at(place: Phrase, root: Token | None) -> list[Token]:
    preposition = PLACES.get(place.head, ("in", "in"))[0]
    return _phrase(place, "place", "obl", root, "dat", preposition)


def _to(goal: Phrase, root: Token) -> list[Token]:
    preposition = "nach" if goal.head in TOWNS else PLACES.get(goal.head, ("in", "in"))[1]
    return _phrase(goal, "goal", "obl", root, "dat" if preposition == "zu" else "acc", preposition)


def _wh_phrase(scene: Scene, role: str, root: Token) -> list[Token]:
    """Return the question phrase; its words have the role "question", so questions can be aligned too."""
    about, _, count = role.partition(".")
    dative = scene.predicate != "be" and VERB[scene.predicate].dative
    if count:
        phrase: Phrase = getattr(scene, about)
        if about == "subject":
            return _phrase(phrase, about, "nsubj", root, "nom", counted=True)
        return _phrase(phrase, about, "obj", root, "dat" if dative else "acc", counted=True)
    if about == "subject":
        return [Token("wer", "wer", "PRON", QUESTION, "nsubj", root)]
    if about == "object" and scene.object:
        form = ("wem" if dative else "wen") if scene.object.person or dative else "was"
        return [Token(form, "was" if form == "was" else "wer", "PRON", QUESTION, "obj", root)]
    if root.roles == QUESTION:
        return [root]
    if role == "recipient":
        return [Token("wem", "wer", "PRON", QUESTION, "iobj", root)]
    first, _, second = _UNKNOWN[role].partition(" ")
    if not second:
        return [Token(first, first, "ADV", QUESTION, "advmod", root)]
    whom = Token(second, "wer", "PRON", QUESTION, "obl", root)
    return [Token(first, first, "ADP", QUESTION, "case", whom), whom]


def _phrase(
    phrase: Phrase,
    role: str,
    deprel: str,
    head: Token | None,
    case: str,
    preposition: str = "",
    *,
    kein: bool = False,
    counted: bool = False,
) -> list[Token]:
    """Return a participant: preposition, determiner (kein, "wie viele"), quality, noun, in their case."""
    roles = part(role)
    if phrase.named:
        tokens = person_or_town(phrase, NAME, role, deprel, head)
        noun = tokens[0]
    else:
        noun = _noun(phrase, roles.head, deprel, head, case)
        tokens = [noun]
    kind = "p" if phrase.plural else NOUN[phrase.head].gender if phrase.head in NOUNS else ""
    if phrase.quality:
        stem = ADJECTIVE[phrase.quality]
        form = STEMS.get(stem, stem) + _ending(phrase, case, kind, kein)
        tokens.insert(0, Token(form, stem, "ADJ", roles.quality, "amod", noun))
    if counted:
        many = Token("viele" if case != "dat" else "vielen", "viele", "DET", QUESTION, "det", noun)
        tokens = [Token("wie", "wie", "ADV", QUESTION, "advmod", many), many, *tokens]
    elif kein:
        form = "kein" + _ein(case, kind)
        tokens.insert(0, Token(form, "kein", "DET", (*NEGATION, *roles.determiner), "det", noun))
    elif phrase.determiner:
        tokens.insert(0, _determiner(phrase.determiner, roles.determiner, noun, case, kind))
    return _with(preposition, tokens, noun, roles.relation) if preposition else tokens


def _with(preposition: str, tokens: list[Token], noun: Token, roles: Roles) -> list[Token]:
    """Prepend a preposition; some contract with the article (in dem: im), whose roles they get."""
    contracted = _CONTRACTIONS.get((preposition, tokens[0].form)) if tokens[0].lemma == "der" else None
    first = Token(contracted or preposition, preposition, "ADP", roles, "case", noun)
    if contracted:
        first.roles = (*roles, *tokens[0].roles)
        return [first, *tokens[1:]]
    return [first, *tokens]


def _noun(phrase: Phrase, roles: Roles, deprel: str, head: Token | None, case: str) -> Token:
    word = NOUN[phrase.head]
    form = word.singular
    if phrase.plural:
        form = word.plural + ("n" if case == "dat" and not word.plural.endswith(("n", "s")) else "")
    elif word.weak and case != "nom":
        form = word.plural
    return Token(form, word.singular, "NOUN", roles, deprel, head)


def _ein(case: str, kind: str) -> str:
    return "" if (case, kind) in _BARE else _STRONG[case][kind]


def _ending(phrase: Phrase, case: str, kind: str, kein: bool) -> str:
    """Return the adjective ending: weak after der-words, strong without an article, mixed after ein."""
    if phrase.determiner in ("a", "no") or kein:
        return _STRONG[case][kind] if (case, kind) in _BARE else _WEAK[case][kind]
    return (_WEAK if phrase.determiner in ("the", "this", "these", "every") else _STRONG)[case][kind]


def _determiner(determiner: str, roles: Roles, noun: Token, case: str, kind: str) -> Token:
    word = NUMBER_WORD[determiner]
    if determiner in NUMERALS:
        return Token(word, word, "NUM", roles, "nummod", noun)
    if determiner == "the":
        form = _THE[case][kind]
    elif determiner in ("a", "no"):
        form = word + _ein(case, kind)
    else:  # dieser, jeder; viele, einige: all take the strong endings
        stem = word.removesuffix("er") if word.endswith("er") else word.removesuffix("e")
        form = stem + _STRONG[case][kind]
    return Token(form, word, "DET", roles, "det", noun)
