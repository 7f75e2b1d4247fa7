"""German words: gender and plural of nouns, stems of adjectives, principal parts of verbs, prepositions of places."""

from __future__ import annotations

from typing import NamedTuple

from interlace.toy._concepts import CONCEPTS, GIVEN, SURNAMES
from interlace.toy._tokens import phrase_of_time


class Noun(NamedTuple):
    """weak: every singular form but the nominative equals the plural (den Studenten)."""

    singular: str
    gender: str  # m, f, n
    plural: str
    weak: bool


class Verb(NamedTuple):
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
# concept, infinitive (particle|verb), third person, past; "dative" where the object stands in it
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
# where (dative) and where to (accusative, or zu with the dative); missing: in, in
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


def _cells(table: str) -> list[list[str]]:
    return [cell.split() for line in table.strip().splitlines() for cell in line.split(" | ")]


def _verb(infinitive: str, third: str, past: str, case: str = "") -> Verb:
    particle, _, verb = infinitive.rpartition("+")
    return Verb(verb, third, past, particle, case == "dative")


def _plain(table: str) -> dict[str, str]:
    return dict(_cells(table))


NOUN: dict[str, Noun] = {
    concept: Noun(singular, "m" if gender == "w" else gender, plural, gender == "w")
    for concept, singular, gender, plural in _cells(_NOUNS)
}
VERB: dict[str, Verb] = {concept: _verb(*parts) for concept, *parts in _cells(_VERBS)}
ADJECTIVE = _plain(_ADJECTIVES)
MANNER_WORD = _plain(_MANNERS)
NUMBER_WORD = _plain(_NUMERALS)
NAME: dict[str, str] = {name: name.title() for name in (*GIVEN, *SURNAMES)} | _plain(_TOWNS)
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
_ALL: dict[str, str] = (
    {concept: noun.singular for concept, noun in NOUN.items()}
    | {concept: verb.particle + verb.infinitive for concept, verb in VERB.items()}
    | ADJECTIVE
    | MANNER_WORD
    | NUMBER_WORD
    | NAME
    | {time: " ".join(row[0] for row in rows) for time, rows in TIME.items()}
)
WORDS: dict[str, str] = {concept: _ALL[concept] for concept in CONCEPTS}
