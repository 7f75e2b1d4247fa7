"""German: verb second, three genders, four endings a case, separable verbs, nicht and kein."""

from typing import NamedTuple

from interlace.toy.concepts import NUMERALS
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import (
    LATIN_NAMES,
    Clause,
    Token,
    Tokens,
    citation_forms,
    determiner_of,
    entries,
    word_map,
)

# ---- words ----


class _Noun(NamedTuple):
    singular: str
    gender: str  # m, f, n; w: masculine and weak, every singular form but the nominative is the plural (den Studenten)
    plural: str


class _Verb(NamedTuple):
    infinitive: str  # a particle that is left at the end + verb
    third: str
    past: str
    case: str = "acc"  # of the object


class _Prepositions(NamedTuple):
    """location: with the dative. direction: with the accusative, or zu with the dative."""

    location: str
    direction: str


_NOUNS = """
doctor Arzt m Ärzte | nurse Krankenschwester f Krankenschwestern | patient Patient w Patienten
dentist Zahnärztin f Zahnärztinnen | teacher Lehrerin f Lehrerinnen | student Student w Studenten
pupil Schülerin f Schülerinnen | professor Professor m Professoren
scientist Wissenschaftlerin f Wissenschaftlerinnen | writer Schriftsteller m Schriftsteller
journalist Journalistin f Journalistinnen | secretary Sekretärin f Sekretärinnen | chef Koch m Köche
waiter Kellner m Kellner | baker Bäcker m Bäcker | farmer Bauer w Bauern | gardener Gärtner m Gärtner
shepherd Schäfer m Schäfer | fisherman Fischer m Fischer | sailor Matrose w Matrosen | captain Kapitän m Kapitäne
pilot Pilotin f Pilotinnen | driver Fahrer m Fahrer | tourist Tourist w Touristen | musician Musiker m Musiker
singer Sängerin f Sängerinnen | dancer Tänzerin f Tänzerinnen | painter Maler m Maler
actor Schauspieler m Schauspieler | photographer Fotografin f Fotografinnen | engineer Ingenieurin f Ingenieurinnen
mechanic Mechaniker m Mechaniker | carpenter Zimmermann m Zimmerleute | worker Arbeiter m Arbeiter
policeman Polizist w Polizisten | judge Richterin f Richterinnen | lawyer Anwalt m Anwälte | thief Dieb m Diebe
merchant Händler m Händler | customer Kundin f Kundinnen | neighbor Nachbarin f Nachbarinnen | guest Gast m Gäste
mother Mutter f Mütter | father Vater m Väter | grandmother Großmutter f Großmütter
grandfather Großvater m Großväter | brother Bruder m Brüder | sister Schwester f Schwestern | boy Junge w Jungen
girl Mädchen n Mädchen | man Mann m Männer | woman Frau f Frauen | king König m Könige | queen Königin f Königinnen
soldier Soldat w Soldaten | person Mensch w Menschen | animal Tier n Tiere
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
report Bericht m Berichte | map Landkarte f Landkarten | message Nachricht f Nachrichten | hammer Hammer m Hämmer
knife Messer n Messer | axe Axt f Äxte | saw Säge f Sägen | rope Seil n Seile | bucket Eimer m Eimer
ladder Leiter f Leitern | key Schlüssel m Schlüssel | lamp Lampe f Lampen | plate Teller m Teller | cup Tasse f Tassen
spoon Löffel m Löffel | bottle Flasche f Flaschen | hat Hut m Hüte | coat Mantel m Mäntel | shirt Hemd n Hemden
shoe Schuh m Schuhe | dress Kleid n Kleider | scarf Schal m Schals | table Tisch m Tische | chair Stuhl m Stühle
bed Bett n Betten | cupboard Schrank m Schränke | door Tür f Türen | window Fenster n Fenster
mirror Spiegel m Spiegel | car Auto n Autos | bicycle Fahrrad n Fahrräder | boat Boot n Boote
truck Lastwagen m Lastwagen | bus Bus m Busse | tractor Traktor m Traktoren | guitar Gitarre f Gitarren
violin Geige f Geigen | piano Klavier n Klaviere | flute Flöte f Flöten | drum Trommel f Trommeln
trumpet Trompete f Trompeten | computer Computer m Computer | telephone Telefon n Telefone | camera Kamera f Kameras
radio Radio n Radios | clock Uhr f Uhren | ball Ball m Bälle | doll Puppe f Puppen | gift Geschenk n Geschenke
picture Bild n Bilder | statue Statue f Statuen | stone Stein m Steine | tree Baum m Bäume | flower Blume f Blumen
bag Tasche f Taschen | box Kiste f Kisten | umbrella Regenschirm m Regenschirme | basket Korb m Körbe
ring Ring m Ringe | coin Münze f Münzen | ticket Fahrkarte f Fahrkarten | medicine Medizin f Medizinen
bandage Verband m Verbände | tool Werkzeug n Werkzeuge | vehicle Fahrzeug n Fahrzeuge
instrument Instrument n Instrumente
hospital Krankenhaus n Krankenhäuser | pharmacy Apotheke f Apotheken | school Schule f Schulen
university Universität f Universitäten | library Bibliothek f Bibliotheken | office Büro n Büros
kitchen Küche f Küchen | restaurant Restaurant n Restaurants | bakery Bäckerei f Bäckereien | market Markt m Märkte
shop Laden m Läden | farm Bauernhof m Bauernhöfe | field Feld n Felder | garden Garten m Gärten | forest Wald m Wälder
park Park m Parks | lake See m Seen | river Fluss m Flüsse | beach Strand m Strände | harbor Hafen m Häfen
island Insel f Inseln | station Bahnhof m Bahnhöfe | airport Flughafen m Flughäfen | hotel Hotel n Hotels
museum Museum n Museen | theater Theater n Theater | workshop Werkstatt f Werkstätten | factory Fabrik f Fabriken
church Kirche f Kirchen | street Straße f Straßen | castle Schloss n Schlösser | house Haus n Häuser
village Dorf n Dörfer
"""
NOUN = entries(_Noun, _NOUNS)
_VERBS = """
sleep schlafen schläft schlief | work arbeiten arbeitet arbeitete | laugh lachen lacht lachte
cry weinen weint weinte | dance tanzen tanzt tanzte | sing singen singt sang | wait warten wartet wartete
swim schwimmen schwimmt schwamm | arrive an+kommen kommt kam | jump springen springt sprang | go gehen geht ging
travel reisen reist reiste | return zurück+kehren kehrt kehrte | run rennen rennt rannte | eat essen isst aß
drink trinken trinkt trank | cook kochen kocht kochte | bake backen backt backte | buy kaufen kauft kaufte
sell verkaufen verkauft verkaufte | read lesen liest las | write schreiben schreibt schrieb | see sehen sieht sah
find finden findet fand | lose verlieren verliert verlor | seek suchen sucht suchte | help helfen hilft half dat
visit besuchen besucht besuchte | greet grüßen grüßt grüßte | call an+rufen ruft rief | invite ein+laden lädt lud
love lieben liebt liebte | know kennen kennt kannte | need brauchen braucht brauchte
follow folgen folgt folgte dat | photograph fotografieren fotografiert fotografierte | paint malen malt malte
repair reparieren repariert reparierte | clean putzen putzt putzte | wash waschen wäscht wusch
open öffnen öffnet öffnete | close schließen schließt schloss | wear tragen trägt trug | lift heben hebt hob
push schieben schiebt schob | drive fahren fährt fuhr | play spielen spielt spielte | hear hören hört hörte
build bauen baut baute | cut schneiden schneidet schnitt | plant pflanzen pflanzt pflanzte
feed füttern füttert fütterte | catch fangen fängt fing | steal stehlen stiehlt stahl
hide verstecken versteckt versteckte | forget vergessen vergisst vergaß | heal heilen heilt heilte
give geben gibt gab | show zeigen zeigt zeigte | send schicken schickt schickte | bring bringen bringt brachte
"""
VERB = entries(_Verb, _VERBS)
WORD = LATIN_NAMES | word_map("""
old alt | young jung | new neu | big groß | small klein | long lang | short kurz | heavy schwer | expensive teuer
cheap billig | red rot | blue blau | green grün | white weiß | black schwarz | yellow gelb | beautiful schön
ugly hässlich | happy glücklich | sad traurig | tired müde | hungry hungrig | rich reich | poor arm | famous berühmt
friendly freundlich | strong stark | weak schwach | clean_quality sauber | dirty schmutzig | hot heiß | cold kalt
fresh frisch | sweet süß | empty leer | full voll | dangerous gefährlich
slowly langsam | quickly schnell | quietly leise | loudly laut | carefully sorgfältig | happily fröhlich
patiently geduldig | secretly heimlich
two zwei | three drei | four vier | five fünf | six sechs | seven sieben | eight acht | nine neun | ten zehn
the der | a ein | this dieser | these dieser | many viele | some einige | every jeder | no kein
berlin Berlin | london London | paris Paris | madrid Madrid | istanbul Istanbul | vienna Wien | rome Rom
moscow Moskau | beijing Peking | new_delhi Neu-Delhi | tokyo Tokio | cairo Kairo
""")
STEMS = {"teuer": "teur", "müde": "müd"}  # before an ending
PLACES = entries(
    _Prepositions,
    """
market auf auf | farm auf auf | field auf auf | lake an an | river an an | beach an an | island auf auf | station an zu
airport an zu | street auf auf | harbor in zu | university an an
""",
)
_IN = _Prepositions("in", "in")
TIME = word_map("""
last_week letzte/letzter/ADJ/w Woche/NOUN/u | next_week nächste/nächster/ADJ/w Woche/NOUN/u
last_month letzten/letzter/ADJ/w Monat/NOUN/u | next_month nächsten/nächster/ADJ/w Monat/NOUN/u
last_year letztes/letzter/ADJ/w Jahr/NOUN/u | next_year nächstes/nächster/ADJ/w Jahr/NOUN/u
last_summer letzten/letzter/ADJ/w Sommer/NOUN/u | next_summer nächsten/nächster/ADJ/w Sommer/NOUN/u
last_winter letzten/letzter/ADJ/w Winter/NOUN/u | next_winter nächsten/nächster/ADJ/w Winter/NOUN/u
last_monday letzten/letzter/ADJ/w Montag/NOUN/u | next_monday nächsten/nächster/ADJ/w Montag/NOUN/u
last_friday letzten/letzter/ADJ/w Freitag/NOUN/u
next_friday nächsten/nächster/ADJ/w Freitag/NOUN/u | yesterday gestern/ADV/wu | today heute/ADV/wu
now jetzt/ADV/wu | tomorrow morgen/ADV/wu | every_day jeden/jeder/DET/w Tag/NOUN/u
every_morning jeden/jeder/DET/w Morgen/NOUN/u
""")
WORDS = citation_forms(
    {concept: noun.singular for concept, noun in NOUN.items()},
    {concept: verb.infinitive.replace("+", "") for concept, verb in VERB.items()},
    WORD,
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
_BE = {"past": ("war", "waren"), "present": ("ist", "sind")}  # singular, plural
_WHO = {"nom": "wer", "acc": "wen", "dat": "wem"}


class _Clause(Clause):
    times = TIME
    when_word = "wann"
    adpositions = {"companion": "mit"}
    contractions = _CONTRACTIONS

    def tokens(self) -> Tokens:
        scene = self.scene
        if scene.predicate == "be":
            finite, predicate = self.state()
        else:
            finite, predicate = self.event()
        subject = self.parts("subject")
        time = self.parts("time")
        fronted = scene.fronted and not self.wh_role
        middle = self.middle([] if fronted else time)
        if self.wh_role:
            return [*self.front, finite, *subject, *middle, *predicate]
        if fronted:
            return [*time, finite, *subject, *middle, *predicate]
        return [*subject, finite, *middle, *predicate]

    def state(self) -> tuple[Token, Tokens]:
        """Return the finite form and the predicate of "be" with its negation."""
        scene = self.scene
        predicate = self.predicate()
        if scene.negated and scene.category:
            form = "kein" + _ein("nom", _kind(scene.category))
            predicate.insert(0, Token(form, "DET", "negation", "det", lemma="kein"))
        elif scene.negated:
            predicate.insert(0, _not())
        if scene.tense == "future":
            return self.will(), [*predicate, Token("sein", "AUX", "copula", "cop")]
        form = _BE[scene.tense][self.plural]
        return Token(form, "AUX", "copula tense", "cop", lemma="sein"), predicate

    def event(self) -> tuple[Token, Tokens]:
        """Return the finite verb, and what is left of the verb at the end."""
        verb = VERB[self.scene.predicate]
        particle, _, infinitive = verb.infinitive.rpartition("+")
        root = self.root = Token(particle + infinitive, "VERB", "predicate")
        if self.scene.tense == "future":
            return self.will(), [root]
        root.roles = "predicate tense"
        if self.scene.tense == "past":
            root.form = _plural_past(verb.past) if self.plural else verb.past
        else:
            root.form = infinitive if self.plural else verb.third
        if particle:
            return root, [Token(particle, "ADP", "predicate", "compound:prt")]
        return root, []

    def middle(self, time: Tokens) -> Tokens:
        """Return the middle field: all between the finite verb, or the subject behind it, and the rest of the verb.

        Nicht stands behind the object and before the goal; without these it stands before companion, place and manner.
        """
        scene = self.scene
        if scene.predicate == "be":
            return time
        denial = []
        if scene.negated and (not scene.object or scene.object.definite):
            denial.append(_not())
        unstressed = self.parts("recipient") + time
        stressed = self.parts("companion place manner object")
        if scene.object or scene.goal:
            stressed += denial
        else:
            unstressed += denial
        return unstressed + stressed + self.parts("goal")

    def will(self) -> Token:
        return Token("werden" if self.plural else "wird", "AUX", "tense", "aux", lemma="werden")

    def adposition(self, role: str, phrase: Phrase) -> str:
        if role == "place":
            return PLACES.get(phrase.head, _IN).location
        if role == "goal":
            return "nach" if phrase.named else PLACES.get(phrase.head, _IN).direction
        return super().adposition(role, phrase)

    def case(self, role: str, adposition: str) -> str:
        """Return nom, acc or dat."""
        if role == "subject":
            return "nom"
        if role == "object":
            return VERB[self.scene.predicate].case
        return "acc" if role == "goal" and adposition != "zu" else "dat"

    def question_words(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        if role in ("goal", "place"):
            return [Token("wohin" if role == "goal" else "wo", "ADV", "question", "advmod")]
        case = self.case(role, adposition)
        if case == "acc" and not phrase.person:
            return [Token("was", "PRON", "question")]
        return [Token(_WHO[case], "PRON", "question", lemma="wer")]

    def phrase(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        """Return determiner (kein, "wie viele"), quality, noun, in their case."""
        if phrase.named:
            return self.named(phrase, role)
        case = self.case(role, adposition)
        determiner = phrase.determiner
        if role == "object" and self.scene.negated and not phrase.definite:
            determiner = "no"
        kind = "p" if phrase.plural else _kind(phrase.head)
        word = NOUN[phrase.head]
        form = _declined(word, case, plural=phrase.plural)
        noun = Token(form, "NOUN", ".head", lemma=word.singular)
        tokens = [noun]
        if phrase.quality:
            stem = WORD[phrase.quality]
            form = STEMS.get(stem, stem) + _ending(determiner, case, kind)
            tokens.insert(0, Token(form, "ADJ", ".quality", "amod", noun, stem))
        if self.counts(role):
            form = "vielen" if case == "dat" else "viele"
            many = Token(form, "DET", "question", "det", noun, "viele")
            tokens = [Token("wie", "ADV", "question", "advmod", many), many, *tokens]
        elif determiner:
            form = _determiner(determiner, case, kind)
            token = determiner_of(noun, determiner, form, WORD[determiner])
            if determiner != phrase.determiner:
                token.roles = f"negation {token.roles}"
            tokens.insert(0, token)
        return tokens


def _not() -> Token:
    return Token("nicht", "PART", "negation", "advmod")


def _plural_past(past: str) -> str:
    return past + ("n" if past.endswith("e") else "en")


def _declined(word: _Noun, case: str, *, plural: bool) -> str:
    if not plural:
        return word.plural if word.gender == "w" and case != "nom" else word.singular
    if case == "dat" and not word.plural.endswith(("n", "s")):
        return word.plural + "n"
    return word.plural


def _kind(noun: str) -> str:
    return NOUN[noun].gender.replace("w", "m")


def _ein(case: str, kind: str) -> str:
    if (case, kind) in _BARE:
        return ""
    return _STRONG[case][kind]


def _ending(determiner: str, case: str, kind: str) -> str:
    """Return the adjective ending: weak after der-words, strong without an article, mixed after ein."""
    if determiner in ("a", "no"):
        if (case, kind) in _BARE:
            return _STRONG[case][kind]
        return _WEAK[case][kind]
    return (_WEAK if determiner in ("the", "this", "these", "every") else _STRONG)[case][kind]


def _determiner(determiner: str, case: str, kind: str) -> str:
    word = WORD[determiner]
    if determiner in NUMERALS:
        return word
    if determiner == "the":
        return _THE[case][kind]
    if determiner in ("a", "no"):
        return word + _ein(case, kind)
    # dieser, jeder; viele, einige: all take the strong endings
    return word.removesuffix("er" if word.endswith("er") else "e") + _STRONG[case][kind]


class German(ToyLanguage):
    """[time | subject] finite-verb [subject] recipient [time] companion place manner object nicht goal rest-of-verb."""

    name = "German"
    words = WORDS
    clause = _Clause
