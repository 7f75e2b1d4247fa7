"""The concepts of the toy corpus with tags, topics and selectional preferences, as tables.

Concept names are English words for readability; no grammar looks into them. They are unique over all kinds, so each
language needs one dictionary. Where a language cannot express a distinction, a flag here (see `timed`) excludes it.
"""

from collections.abc import Iterator
from typing import NamedTuple


class NounConcept(NamedTuple):
    """tags: what verbs and adjectives select; topics: where it is frequent; gender: of persons only, "m" or "f"."""

    tags: frozenset[str]
    topics: frozenset[str]
    gender: str
    hypernym: str  # a wider noun concept, or ""

    @property
    def mass(self) -> bool:
        """Whether it is a mass noun, which never has a determiner ("drinks cold milk")."""
        return "mass" in self.tags


class VerbConcept(NamedTuple):
    """subject, objects: tags a noun needs one of (no objects: intransitive); places: place concepts it happens at."""

    subject: frozenset[str]
    objects: frozenset[str]
    flags: frozenset[
        str
    ]  # companion, recipient, goal (requires one), timed (past and future require a time phrase)
    manners: tuple[str, ...]
    topics: frozenset[str]
    places: tuple[str, ...]


class AdjectiveConcept(NamedTuple):
    """tags: nouns need one of them; antonym: excluded by this quality, or ""; lasting: never with a time phrase."""

    tags: frozenset[str]
    antonym: str
    lasting: bool


_PERSONS = """
doctor m medicine | nurse f medicine | patient m medicine | dentist f medicine | teacher f school | student m school
pupil f school | professor m school | scientist f school | writer m office | journalist f office | secretary f office
chef m kitchen | waiter m kitchen | baker m kitchen,market | farmer m farm | gardener m nature | shepherd m farm
fisherman m sea | sailor m sea | captain m sea | pilot f travel | driver m travel | tourist m travel
musician m music | singer f music | dancer f music | painter m art | actor m art | photographer f art
engineer f workshop | mechanic m workshop | carpenter m workshop | worker m workshop | policeman m town | judge f town
lawyer m town | thief m town | merchant m market | customer f market | neighbor f home | guest m home | mother f home
father m home | grandmother f home | grandfather m home | brother m home | sister f home | boy m home,school
girl f home,school | man m - | woman f - | king m tale | queen f tale | soldier m tale
"""
_NO_PROFESSION = """
patient customer neighbor guest mother father grandmother grandfather brother sister boy girl man woman thief king queen
tourist
"""
_ANIMALS = """
dog pet home | cat pet home | horse cattle farm,tale | cow cattle farm | sheep cattle farm | goat cattle farm
pig cattle farm | hen cattle farm | duck bird farm,nature | mouse small home | rabbit small,game nature
wolf wild tale | bear wild,game nature | lion wild tale | elephant wild travel | monkey wild travel
snake wild nature | frog small nature | bee small nature | eagle bird,wild nature | fish game,swimmer sea
"""


# concept, tags, topics, hypernym
_THINGS = """
apple food,fruit market,kitchen - | banana food,fruit market,kitchen - | pear food,fruit market,nature -
potato food,cooked kitchen,farm - | tomato food,cooked market,kitchen - | carrot food,cooked farm,market -
egg food,cooked kitchen,farm - | cake food,baked kitchen,home -
bread food,baked,mass kitchen,market - | cheese food,mass farm,market - | rice food,cooked,mass kitchen -
meat food,cooked,mass kitchen,market - | soup food,cooked,warm,mass kitchen,home - | honey food,mass nature,market -
chocolate food,mass home,market - | water drink,warm,mass - - | milk drink,warm,mass farm,home -
tea drink,warm,mass home,office - | coffee drink,warm,mass office,kitchen - | juice drink,mass kitchen -
wine drink,mass kitchen,tale -
book reading,written,small_thing school,home - | letter reading,written,small_thing office,home -
newspaper reading,small_thing office,home - | poem reading,written school,tale -
report reading,written office,school -
map reading,small_thing travel,sea - | message reading,written office,town -
hammer tool,small_thing workshop tool | knife tool,small_thing,sharp kitchen tool
axe tool,small_thing,sharp farm tool
saw tool,small_thing,sharp workshop tool | rope thing,small_thing,long sea,workshop -
bucket vessel,small_thing farm - | ladder thing,long,heavy_thing workshop - | key small_thing home,town -
lamp thing,small_thing home - | plate vessel,dish kitchen - | cup vessel,dish kitchen,office -
spoon dish,small_thing kitchen -
bottle vessel,openable,small_thing kitchen,sea -
hat clothing,small_thing tale,home - | coat clothing home,town - | shirt clothing home,market -
shoe clothing market,home -
dress clothing music,home - | scarf clothing,small_thing,long home -
table furniture,heavy_thing home,kitchen - | chair furniture home,office - | bed furniture,heavy_thing home,medicine -
cupboard furniture,openable,heavy_thing kitchen,home - | door openable,painted home,town -
window openable home,school -
mirror thing,heavy_thing home,tale -
car vehicle,driven town,travel vehicle | bicycle vehicle town,workshop vehicle | boat vehicle,vessel_sea sea vehicle
truck vehicle,driven workshop,farm vehicle | bus vehicle,driven town,travel vehicle
tractor vehicle,driven farm vehicle
guitar instrument music instrument | violin instrument,small_thing music instrument
piano instrument,heavy_thing music instrument
flute instrument,small_thing music,farm instrument | drum instrument music instrument
trumpet instrument music instrument
computer machine office,school - | telephone machine,small_thing office,home -
camera machine,small_thing art,travel -
radio machine,small_thing home,workshop - | clock machine,small_thing office,workshop -
ball thing,small_thing school,home - | doll thing,small_thing home - | gift thing,openable home,tale -
picture art_work art,school - | statue art_work,heavy_thing art,town - | stone thing,heavy_thing nature -
tree plant,tall nature - | flower plant,small_thing nature,home - | bag vessel,openable,small_thing market,travel -
box vessel,openable market,workshop - | umbrella thing,small_thing,openable town,travel -
basket vessel,small_thing market,farm -
ring thing,small_thing tale,market - | coin small_thing market,tale - | ticket small_thing travel,music -
medicine small_thing,mass medicine - | bandage small_thing medicine,home -
tool tool,small_thing workshop - | vehicle vehicle travel - | instrument instrument music -
"""
_PLACES = """
hospital indoor medicine | pharmacy indoor medicine | school indoor school | university indoor school
library indoor school,office | office indoor office | kitchen indoor kitchen,home | restaurant indoor kitchen,town
bakery indoor kitchen,market | market outdoor market | shop indoor market | farm outdoor farm | field outdoor farm
garden outdoor nature,home | forest outdoor nature | park outdoor nature,town | lake water nature
river water nature,sea | beach outdoor sea | harbor outdoor sea | island outdoor sea | station indoor travel
airport indoor travel | hotel indoor travel | museum indoor art | theater indoor music,art | workshop indoor workshop
factory indoor workshop | church indoor town | street outdoor town | castle indoor tale | house indoor home
village outdoor farm,tale
"""


# concept | subject | objects | flags | manners | topics | places
_VERBS = """
sleep | person animal | - | - | quietly | home medicine travel | house hotel hospital garden castle forest
work | person | - | companion | quietly carefully quickly slowly | office workshop farm medicine | hospital office workshop factory farm field restaurant library shop
laugh | person | - | companion | loudly quietly | home school music | school theater garden street house park
cry | person | - | - | quietly loudly | home tale | hospital house street station castle
dance | person | - | companion | slowly happily | music tale | theater park street castle garden restaurant
sing | person | - | companion | loudly quietly happily | music town | theater church park street garden school
wait | person | - | companion | patiently quietly | travel medicine town | station airport hospital street hotel pharmacy
swim | person animal | - | companion | slowly quickly happily | sea nature | lake river
arrive | person | - | companion | secretly quickly | travel sea | station airport harbor hotel village castle
jump | person animal | - | - | quickly loudly happily | nature school | garden park street field beach
go | person | - | goal companion | slowly quickly | travel school market | -
travel | person | - | goal companion | secretly slowly | travel sea | -
return | person | - | goal companion | slowly secretly quickly | home travel | -
run | person animal | - | goal | quickly | nature farm | -
eat | person animal | food | companion | slowly quickly quietly | kitchen home farm | kitchen restaurant house garden hotel park
drink | person animal | drink | companion | slowly quickly | kitchen home office | kitchen restaurant house hotel office garden
cook | person | cooked | companion | slowly carefully quickly | kitchen home | kitchen restaurant hotel house
bake | person | baked | - | carefully quickly | kitchen market | bakery kitchen restaurant
buy | person | food drink reading tool clothing furniture vehicle instrument machine small_thing art_work cattle dish | companion | quickly secretly | market town | market shop bakery pharmacy station village
sell | person | food drink clothing furniture vehicle instrument machine small_thing art_work cattle dish | - | quickly secretly | market farm | market shop harbor street village
read | person | reading | timed | slowly quietly carefully loudly | school office home | library school university office house park hotel
write | person | written | - | slowly carefully quickly secretly | office school | office library university hotel house
see | person animal | person animal thing vehicle plant place art_work small_thing | - | - | nature travel tale | forest street park village harbor station
find | person | small_thing clothing wild pet thing vehicle machine | - | quickly | town home nature | forest garden house street station beach office hotel
lose | person | small_thing clothing machine | - | - | town travel home | station airport street forest market park
seek | person | small_thing clothing pet person machine | companion | slowly patiently quietly | town home nature | forest house street station office village
help | person | person | - | patiently secretly quickly | medicine school home | hospital school house street workshop field
visit | person | person building | companion | secretly | travel art home | -
greet | person | person | - | loudly happily quietly | town office school | street station office church market school
call | person | person | - | secretly quickly | office home town | -
invite | person | person | - | happily secretly | home tale | -
love | person | person pet art_work instrument place | timed | - | home tale music | -
know | person | person building reading_known | timed | - | town school | -
need | person | tool small_thing machine vehicle drink | timed | - | workshop medicine travel | -
follow | person animal | person animal | - | slowly secretly quietly quickly | nature town tale | forest street park field market
photograph | person | person animal plant place art_work building | - | carefully secretly quickly | art travel nature | park beach museum street village
paint | person | painted furniture art_work plant building person animal | - | slowly carefully | art workshop | garden park workshop beach
repair | person | vehicle machine furniture instrument clothing openable | companion | carefully quickly slowly | workshop home | workshop factory house street harbor
clean | person | furniture openable vehicle machine building_room instrument | - | quickly carefully slowly | home medicine workshop | house hotel hospital school restaurant
wash | person | clothing dish vehicle pet fruit | - | quickly carefully slowly | home kitchen | kitchen house river garden
open | person | openable | - | slowly quietly carefully quickly | home town school | house office school museum castle
close | person | openable | - | quietly loudly slowly quickly | home town | house office school museum castle
wear | person | clothing | timed | - | home music | theater church office school street
lift | person | heavy_thing small_thing | - | slowly carefully | workshop sea | workshop harbor house factory
push | person | vehicle furniture heavy_thing | companion | slowly quickly | workshop town | street factory house harbor
drive | person | driven | - | slowly quickly carefully | travel town farm | -
play | person | instrument | companion | loudly quietly slowly | music school | theater church school house park
hear | person | instrument bird wild person pet | - | - | music nature | theater forest church street garden
build | person | furniture vessel_sea building | companion | slowly carefully quickly | workshop sea | workshop harbor factory village
cut | person | food_solid rope_like plant | timed | quickly carefully slowly | kitchen farm workshop | kitchen garden workshop restaurant
plant | person | plant | companion | carefully slowly | nature farm | garden park field
feed | person | cattle pet bird | - | patiently quickly | farm home | farm garden house park field
catch | person | game bird small | - | quickly quietly | sea nature | lake river forest harbor beach
steal | person | small_thing clothing art_work vehicle machine | - | quietly quickly secretly | town tale | museum hotel castle station market house
hide | person | small_thing clothing art_work | - | quickly secretly | home tale | house garden castle forest hotel
forget | person | small_thing clothing reading | - | - | travel office | hotel station office school restaurant
heal | healer | ill | - | slowly patiently | medicine farm | hospital village farm
give | person | small_thing reading clothing drink fruit vessel gift_like | recipient | secretly happily | home market medicine | hospital house market office school
show | person | art_work reading small_thing clothing machine | recipient | secretly patiently | art school town | museum school office theater castle
send | person | reading small_thing gift_like | recipient | secretly | office home | -
bring | person | food drink tool small_thing furniture clothing | recipient | quickly secretly | kitchen workshop home | restaurant hotel hospital house workshop
"""
# concept, tags, antonym
_ADJECTIVES = """
old person,animal,small_thing,thing,furniture,clothing,vehicle,machine,building,instrument,art_work -
young person,animal - | new small_thing,clothing,furniture,vehicle,machine,instrument,building,tool -
big animal,thing,furniture,vehicle,place,vessel,heavy_thing,fruit,plant small
small animal,thing,furniture,vehicle,place,vessel,small_thing,fruit,plant big | long long short | short long long
heavy heavy_thing,vessel,furniture - | expensive clothing,furniture,vehicle,machine,instrument,art_work cheap
cheap clothing,furniture,vehicle,machine,instrument expensive | red clothing,vehicle,fruit,painted,furniture -
blue clothing,vehicle,painted,furniture,vessel - | green clothing,vehicle,painted,fruit,vessel -
white clothing,vehicle,painted,cattle,pet,dish black | black clothing,vehicle,painted,cattle,pet white
yellow clothing,vehicle,painted,dish - | beautiful art_work,plant,place,clothing,instrument ugly
ugly art_work,clothing,furniture,building beautiful | happy person sad | sad person happy | tired person,animal -
hungry person,animal - | rich person poor | poor person rich | famous person,art_work,building -
friendly person,pet - | strong person,animal weak | weak person,animal strong
clean_quality clothing,dish,vehicle,building_room dirty | dirty clothing,dish,vehicle,building_room clean_quality
hot warm cold | cold warm hot | fresh food - | sweet fruit,baked - | empty vessel,indoor full | full vessel empty
dangerous wild,sharp -
"""
_LASTING = "old young new big small long short heavy red blue green white black yellow ugly beautiful dangerous sweet"
_TIMES = {
    "past": "yesterday last_week last_month last_year last_summer last_winter last_monday last_friday",
    "present": "today now every_day every_morning",
    "future": "tomorrow next_week next_month next_year next_summer next_winter next_monday next_friday",
}
_GIVEN = """
anna f | peter m | maria f | thomas m | elena f | daniel m | sara f | david m | laura f | martin m | julia f
robert m | sofia f | leo m | nina f | omar m
"""
MANNERS: tuple[str, ...] = tuple(
    "slowly quickly quietly loudly carefully happily patiently secretly".split()
)
SURNAMES: tuple[str, ...] = tuple(
    "weber silva kaya sharma chen smith moreno novak rossi haddad".split()
)
TOWNS: tuple[str, ...] = tuple(
    "berlin london paris madrid istanbul vienna rome moscow beijing new_delhi tokyo cairo".split()
)
NUMERALS: tuple[str, ...] = tuple("two three four five six seven eight nine ten".split())
DETERMINERS: tuple[str, ...] = (
    "the",
    "a",
    "this",
    "these",
    *NUMERALS,
    "many",
    "some",
    "every",
    "no",
)
_EXTRA = {  # further tags, by members
    "building": "hospital school university library restaurant market museum theater factory church castle house hotel",
    "building_room": "kitchen office house hotel workshop restaurant shop",
    "reading_known": "book poem",
    "rope_like": "rope",
    "food_solid": "apple banana pear potato tomato carrot cake bread cheese meat",
    "gift_like": "gift flower picture",
    "healer": "doctor nurse dentist farmer",
    "ill": "patient soldier worker",
}


def cells(table: str) -> list[list[str]]:
    """Return the fields of each cell of a table, whose cells are separated by " | " or lines."""
    texts = table.strip().replace("\n", " | ").split(" | ")
    return [text.split() for text in texts]


def _set(field: str) -> frozenset[str]:
    return frozenset(field.replace(",", " ").split()) - {"-"}


def _nouns() -> Iterator[tuple[str, NounConcept]]:
    rows = [
        (concept, "person", topics, gender, "person") for concept, gender, topics in cells(_PERSONS)
    ]
    rows += [
        (concept, f"{tags},animal", topics, "", "animal")
        for concept, tags, topics in cells(_ANIMALS)
    ]
    rows += [
        (concept, f"{tags},object", topics, "", hypernym)
        for concept, tags, topics, hypernym in cells(_THINGS)
    ]
    rows += [(concept, f"{tags},place", topics, "", "") for concept, tags, topics in cells(_PLACES)]
    rows += [("person", "person", "", "m", ""), ("animal", "animal", "nature", "", "")]
    for concept, tags, topics, gender, hypernym in rows:
        extra = {tag for tag, members in _EXTRA.items() if concept in members.split()}
        if gender and hypernym and concept not in _NO_PROFESSION.split():
            extra.add("profession")
        yield (
            concept,
            NounConcept(_set(tags) | extra, _set(topics), gender, hypernym.replace("-", "")),
        )


def _verbs() -> Iterator[tuple[str, VerbConcept]]:
    for line in _VERBS.strip().splitlines():
        concept, subject, objects, flags, manners, topics, places = line.split(" | ")
        in_order = [tuple(field.replace("-", "").split()) for field in (manners, places)]
        yield (
            concept,
            VerbConcept(
                _set(subject),
                _set(objects),
                _set(flags),
                in_order[0],
                _set(topics),
                in_order[1],
            ),
        )


NOUNS: dict[str, NounConcept] = dict(_nouns())
VERBS: dict[str, VerbConcept] = dict(_verbs())
ADJECTIVES: dict[str, AdjectiveConcept] = {
    concept: AdjectiveConcept(_set(tags), antonym.replace("-", ""), concept in _LASTING.split())
    for concept, tags, antonym in cells(_ADJECTIVES)
}
TIMES: dict[str, str] = {
    time: tense for tense, times in _TIMES.items() for time in times.split()
}  # concept -> tense
GIVEN: dict[str, str] = dict(cells(_GIVEN))  # given name -> gender
TOPICS: tuple[str, ...] = tuple(sorted({topic for noun in NOUNS.values() for topic in noun.topics}))
CONCEPTS: tuple[str, ...] = (
    *NOUNS, *VERBS, *ADJECTIVES, *TIMES, *MANNERS, *GIVEN, *SURNAMES, *TOWNS, *DETERMINERS,
)  # fmt: skip
"""All concepts; a language has a word for each."""
