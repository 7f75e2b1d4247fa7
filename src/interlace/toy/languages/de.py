"""German: verb second, three genders, four endings a case, separable verbs, nicht and kein."""

from typing import NamedTuple

from interlace.toy.concepts import NUMERALS, TOWNS, cells
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import LATIN_NAMES, Clause, Token, citation_forms, entries, word_map

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
# location (dative) and direction (accusative, or zu with the dative); missing: in, in
PLACES = {
    "market": ("auf", "auf"), "farm": ("auf", "auf"), "field": ("auf", "auf"), "lake": ("an", "an"),
    "river": ("an", "an"), "beach": ("an", "an"), "island": ("auf", "auf"), "station": ("an", "zu"),
    "airport": ("an", "zu"), "street": ("auf", "auf"), "harbor": ("in", "zu"), "university": ("an", "an"),
}  # fmt: skip
_UNITS = """
week Woche e | month Monat en | year Jahr es | summer Sommer en | winter Winter en
monday Montag en | friday Freitag en
"""
_LAST_AND_NEXT = {}
for _unit, _word, _ending_of_gender in cells(_UNITS):
    for _which, _stem in (("last", "letzt"), ("next", "nächst")):
        _LAST_AND_NEXT[f"{_which}_{_unit}"] = (
            f"{_stem}{_ending_of_gender}/{_stem}er/ADJ/w {_word}/NOUN/u"
        )
TIME = _LAST_AND_NEXT | {
    "yesterday": "gestern/ADV/wu", "today": "heute/ADV/wu", "now": "jetzt/ADV/wu", "tomorrow": "morgen/ADV/wu",
    "every_day": "jeden/jeder/DET/w Tag/NOUN/u", "every_morning": "jeden/jeder/DET/w Morgen/NOUN/u",
}  # fmt: skip
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
_BE = {
    ("past", False): "war",
    ("past", True): "waren",
    ("present", False): "ist",
    ("present", True): "sind",
}


class _Clause(Clause):
    """Cases of phrases are nom, acc or dat, and a preposition after a blank."""

    times = TIME
    when_word = "wann"

    def tokens(self) -> list[Token]:
        scene = self.scene
        if scene.predicate == "be":
            finite, predicate = self.state()
        else:
            finite, predicate = self.event()
        subject = self.participant("subject", "nsubj", "nom")
        time = self.time()
        fronted = scene.fronted and not self.wh_role
        middle = self.middle([] if fronted else time)
        if self.wh_role:
            return [*self.front, finite, *subject, *middle, *predicate]
        if fronted:
            first = time
            second = subject
        else:
            first = subject
            second = []
        return [*first, finite, *second, *middle, *predicate]

    def state(self) -> tuple[Token, list[Token]]:
        """Return the finite form and the predicate of "be" with its negation."""
        scene = self.scene
        if scene.quality:
            predicate = [Token(WORD[scene.quality], "ADJ", "quality", "root")]
        elif scene.category:
            predicate = [Token(NOUN[scene.category].singular, "NOUN", "category", "root")]
        elif scene.place and self.wh_role != "place":
            predicate = self.phrase(scene.place, "place", "root", _at(scene.place), None)
        else:  # "Wo ist der Schlüssel?"
            predicate = [Token("wo", "ADV", "question", "root")]
        predicate = self.rooted(predicate)
        if scene.negated and scene.category:
            form = "kein" + _ein("nom", _kind(scene.category))
            predicate.insert(0, Token(form, "DET", "negation", "det", self.root, "kein"))
        elif scene.negated:
            predicate.insert(0, self.negation())
        if scene.tense == "future":
            return self.will(), [*predicate, Token("sein", "AUX", "copula", "cop", self.root)]
        return Token(
            _BE[scene.tense, self.plural], "AUX", "copula tense", "cop", self.root, "sein"
        ), predicate

    def event(self) -> tuple[Token, list[Token]]:
        """Return the finite verb, and what is left of the verb at the end."""
        verb = VERB[self.scene.predicate]
        tense = self.scene.tense
        particle, _, infinitive = verb.infinitive.rpartition("+")
        root = self.root = Token(particle + infinitive, "VERB", "predicate", "root")
        if tense == "future":
            return self.will(), [root]
        root.roles = "predicate tense"
        if tense == "past":
            root.form = _plural_past(verb.past) if self.plural else verb.past
        else:
            root.form = infinitive if self.plural else verb.third
        return root, [Token(particle, "ADP", "predicate", "compound:prt", root)] if particle else []

    def middle(self, time: list[Token]) -> list[Token]:
        """Return the middle field. Nicht follows a definite object, and otherwise precedes places."""
        scene = self.scene
        if scene.predicate == "be":
            return time
        thing = scene.object
        place = scene.place
        goal = scene.goal
        kein = thing and not thing.definite
        denial = [self.negation()] if scene.negated and not kein else []
        precedes_places = not thing and not goal
        tokens = self.participant("recipient", "iobj", "dat") + time
        if precedes_places:
            tokens += denial
        tokens += self.participant("companion", "obl", "dat mit")
        if place:
            tokens += self.participant("place", "obl", _at(place))
        tokens += self.manner()
        tokens += self.participant("object", "obj", VERB[scene.predicate].case)
        if not precedes_places:
            tokens += denial
        if goal:
            tokens += self.participant("goal", "obl", _to(goal))
        return tokens

    def will(self) -> Token:
        return Token(
            "werden" if self.plural else "wird", "AUX", "tense", "aux", self.root, "werden"
        )

    def negation(self) -> Token:
        return Token("nicht", "PART", "negation", "advmod", self.root)

    def question_words(
        self, phrase: Phrase, role: str, deprel: str, case: str, head: Token
    ) -> list[Token]:
        if role in ("goal", "place"):
            return [Token("wohin" if role == "goal" else "wo", "ADV", "question", "advmod", head)]
        case, _, preposition = case.partition(" ")
        if case == "acc" and not phrase.person:
            return [Token("was", "PRON", "question", deprel, head)]
        whom = Token(
            {"nom": "wer", "acc": "wen", "dat": "wem"}[case],
            "PRON",
            "question",
            deprel,
            head,
            "wer",
        )
        if preposition:
            return [Token(preposition, "ADP", "question", "case", whom), whom]
        return [whom]

    def phrase(
        self, phrase: Phrase, role: str, deprel: str, case: str, head: Token | None
    ) -> list[Token]:
        """Return preposition, determiner (kein, "wie viele"), quality, noun, in their case."""
        case, _, preposition = case.partition(" ")
        kein = role == "object" and self.scene.negated and not phrase.definite
        if phrase.named:
            kind = ""
            tokens = self.named(phrase, role, deprel, head)
        else:
            kind = "p" if phrase.plural else _kind(phrase.head)
            word = NOUN[phrase.head]
            form = _declined(word, case, plural=phrase.plural)
            tokens = [Token(form, "NOUN", f"{role}.head", deprel, head, word.singular)]
        noun = tokens[0]
        if phrase.quality:
            stem = WORD[phrase.quality]
            form = STEMS.get(stem, stem) + _ending("no" if kein else phrase.determiner, case, kind)
            tokens.insert(0, Token(form, "ADJ", f"{role}.quality", "amod", noun, stem))
        if self.wh_role == f"{role}.count":
            many = Token(
                "vielen" if case == "dat" else "viele", "DET", "question", "det", noun, "viele"
            )
            tokens = [Token("wie", "ADV", "question", "advmod", many), many, *tokens]
        elif kein:
            roles = f"negation {role}.determiner"
            tokens.insert(0, Token("kein" + _ein(case, kind), "DET", roles, "det", noun, "kein"))
        elif phrase.determiner:
            tokens.insert(0, _determiner(phrase.determiner, f"{role}.determiner", noun, case, kind))
        if not preposition:
            return tokens
        return _with_preposition(
            Token(preposition, "ADP", f"{role}.relation", "case", noun), tokens
        )


def _plural_past(past: str) -> str:
    return past + ("n" if past.endswith("e") else "en")


def _declined(word: _Noun, case: str, *, plural: bool) -> str:
    if not plural:
        return word.plural if word.gender == "w" and case != "nom" else word.singular
    if case == "dat" and not word.plural.endswith(("n", "s")):
        return word.plural + "n"
    return word.plural


def _with_preposition(preposition: Token, tokens: list[Token]) -> list[Token]:
    """Return a noun phrase with its preposition, contracted with an article (in dem: im, with the roles of both)."""
    contracted = _CONTRACTIONS.get((preposition.form, tokens[0].form))
    if contracted and tokens[0].lemma == "der":
        preposition.form = contracted
        preposition.roles += f" {tokens[0].roles}"
        tokens = tokens[1:]
    return [preposition, *tokens]


def _at(place: Phrase) -> str:
    return f"dat {PLACES.get(place.head, ('in', 'in'))[0]}"


def _to(goal: Phrase) -> str:
    if goal.head in TOWNS:
        preposition = "nach"
    else:
        preposition = PLACES.get(goal.head, ("in", "in"))[1]
    return f"{'dat' if preposition == 'zu' else 'acc'} {preposition}"


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


def _determiner(determiner: str, roles: str, noun: Token, case: str, kind: str) -> Token:
    word = WORD[determiner]
    if determiner in NUMERALS:
        return Token(word, "NUM", roles, "nummod", noun)
    if determiner == "the":
        form = _THE[case][kind]
    elif determiner in ("a", "no"):
        form = word + _ein(case, kind)
    else:  # dieser, jeder; viele, einige: all take the strong endings
        form = word.removesuffix("er" if word.endswith("er") else "e") + _STRONG[case][kind]
    return Token(form, "DET", roles, "det", noun, word)


class German(ToyLanguage):
    """[time | subject] finite-verb [subject] recipient [time] companion place manner object nicht goal rest-of-verb."""

    name = "German"
    words = WORDS
    clause = _Clause
