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
    # companion, recipient, goal (requires one), timed (past and future require a time phrase)
    flags: frozenset[str]
    manners: tuple[str, ...]
    topics: frozenset[str]
    places: tuple[str, ...]


class AdjectiveConcept(NamedTuple):
    """tags: nouns need one of them; antonym: excluded by this quality, or ""; lasting: never with a time phrase."""

    tags: frozenset[str]
    antonym: str
    lasting: bool


# concept, tags, topics, gender, hypernym
_NOUNS = """
doctor person,healer,profession medicine m person | nurse person,healer,profession medicine f person
patient person,ill medicine m person | dentist person,healer,profession medicine f person
teacher person,profession school f person | student person,profession school m person
pupil person,profession school f person | professor person,profession school m person
scientist person,profession school f person | writer person,profession office m person
journalist person,profession office f person | secretary person,profession office f person
chef person,profession kitchen m person | waiter person,profession kitchen m person
baker person,profession kitchen,market m person | farmer person,healer,profession farm m person
gardener person,profession nature m person | shepherd person,profession farm m person
fisherman person,profession sea m person | sailor person,profession sea m person
captain person,profession sea m person | pilot person,profession travel f person
driver person,profession travel m person | tourist person travel m person
musician person,profession music m person | singer person,profession music f person
dancer person,profession music f person | painter person,profession art m person
actor person,profession art m person | photographer person,profession art f person
engineer person,profession workshop f person | mechanic person,profession workshop m person
carpenter person,profession workshop m person | worker person,ill,profession workshop m person
policeman person,profession town m person | judge person,profession town f person
lawyer person,profession town m person | thief person town m person
merchant person,profession market m person | customer person market f person | neighbor person home f person
guest person home m person | mother person home f person | father person home m person
grandmother person home f person | grandfather person home m person | brother person home m person
sister person home f person | boy person home,school m person | girl person home,school f person
man person - m person | woman person - f person | king person tale m person | queen person tale f person
soldier person,ill,profession tale m person | dog animal,pet home - animal | cat animal,pet home - animal
horse animal,cattle farm,tale - animal | cow animal,cattle farm - animal | sheep animal,cattle farm - animal
goat animal,cattle farm - animal | pig animal,cattle farm - animal | hen animal,cattle farm - animal
duck animal,bird farm,nature - animal | mouse animal,small home - animal
rabbit animal,game,small nature - animal | wolf animal,wild tale - animal
bear animal,game,wild nature - animal | lion animal,wild tale - animal | elephant animal,wild travel - animal
monkey animal,wild travel - animal | snake animal,wild nature - animal | frog animal,small nature - animal
bee animal,small nature - animal | eagle animal,bird,wild nature - animal
fish animal,game,swimmer sea - animal | apple object,food,food_solid,fruit kitchen,market - -
banana object,food,food_solid,fruit kitchen,market - - | pear object,food,food_solid,fruit market,nature - -
potato object,cooked,food,food_solid farm,kitchen - -
tomato object,cooked,food,food_solid kitchen,market - - | carrot object,cooked,food,food_solid farm,market - -
egg object,cooked,food farm,kitchen - - | cake object,baked,food,food_solid home,kitchen - -
bread object,baked,food,food_solid,mass kitchen,market - -
cheese object,food,food_solid,mass farm,market - - | rice object,cooked,food,mass kitchen - -
meat object,cooked,food,food_solid,mass kitchen,market - -
soup object,cooked,food,mass,warm home,kitchen - - | honey object,food,mass market,nature - -
chocolate object,food,mass home,market - - | water object,drink,mass,warm - - -
milk object,drink,mass,warm farm,home - - | tea object,drink,mass,warm home,office - -
coffee object,drink,mass,warm kitchen,office - - | juice object,drink,mass kitchen - -
wine object,drink,mass kitchen,tale - -
book object,reading,reading_known,small_thing,written home,school - -
letter object,reading,small_thing,written home,office - -
newspaper object,reading,small_thing home,office - -
poem object,reading,reading_known,written school,tale - - | report object,reading,written office,school - -
map object,reading,small_thing sea,travel - - | message object,reading,written office,town - -
hammer object,small_thing,tool workshop - tool | knife object,sharp,small_thing,tool kitchen - tool
axe object,sharp,small_thing,tool farm - tool | saw object,sharp,small_thing,tool workshop - tool
rope object,long,rope_like,small_thing,thing sea,workshop - - | bucket object,small_thing,vessel farm - -
ladder object,heavy_thing,long,thing workshop - - | key object,small_thing home,town - -
lamp object,small_thing,thing home - - | plate object,dish,vessel kitchen - -
cup object,dish,vessel kitchen,office - - | spoon object,dish,small_thing kitchen - -
bottle object,openable,small_thing,vessel kitchen,sea - - | hat object,clothing,small_thing home,tale - -
coat object,clothing home,town - - | shirt object,clothing home,market - -
shoe object,clothing home,market - - | dress object,clothing home,music - -
scarf object,clothing,long,small_thing home - - | table object,furniture,heavy_thing home,kitchen - -
chair object,furniture home,office - - | bed object,furniture,heavy_thing home,medicine - -
cupboard object,furniture,heavy_thing,openable home,kitchen - - | door object,openable,painted home,town - -
window object,openable home,school - - | mirror object,heavy_thing,thing home,tale - -
car object,driven,vehicle town,travel - vehicle | bicycle object,vehicle town,workshop - vehicle
boat object,vehicle,vessel_sea sea - vehicle | truck object,driven,vehicle farm,workshop - vehicle
bus object,driven,vehicle town,travel - vehicle | tractor object,driven,vehicle farm - vehicle
guitar object,instrument music - instrument | violin object,instrument,small_thing music - instrument
piano object,heavy_thing,instrument music - instrument
flute object,instrument,small_thing farm,music - instrument | drum object,instrument music - instrument
trumpet object,instrument music - instrument | computer object,machine office,school - -
telephone object,machine,small_thing home,office - - | camera object,machine,small_thing art,travel - -
radio object,machine,small_thing home,workshop - - | clock object,machine,small_thing office,workshop - -
ball object,small_thing,thing home,school - - | doll object,small_thing,thing home - -
gift object,gift_like,openable,thing home,tale - - | picture object,art_work,gift_like art,school - -
statue object,art_work,heavy_thing art,town - - | stone object,heavy_thing,thing nature - -
tree object,plant,tall nature - - | flower object,gift_like,plant,small_thing home,nature - -
bag object,openable,small_thing,vessel market,travel - - | box object,openable,vessel market,workshop - -
umbrella object,openable,small_thing,thing town,travel - - | basket object,small_thing,vessel farm,market - -
ring object,small_thing,thing market,tale - - | coin object,small_thing market,tale - -
ticket object,small_thing music,travel - - | medicine object,mass,small_thing medicine - -
bandage object,small_thing home,medicine - - | tool object,small_thing,tool workshop - -
vehicle object,vehicle travel - - | instrument object,instrument music - -
hospital place,building,indoor medicine - - | pharmacy place,indoor medicine - -
school place,building,indoor school - - | university place,building,indoor school - -
library place,building,indoor office,school - - | office place,building_room,indoor office - -
kitchen place,building_room,indoor home,kitchen - -
restaurant place,building,building_room,indoor kitchen,town - - | bakery place,indoor kitchen,market - -
market place,building,outdoor market - - | shop place,building_room,indoor market - -
farm place,outdoor farm - - | field place,outdoor farm - - | garden place,outdoor home,nature - -
forest place,outdoor nature - - | park place,outdoor nature,town - - | lake place,water nature - -
river place,water nature,sea - - | beach place,outdoor sea - - | harbor place,outdoor sea - -
island place,outdoor sea - - | station place,indoor travel - - | airport place,indoor travel - -
hotel place,building,building_room,indoor travel - - | museum place,building,indoor art - -
theater place,building,indoor art,music - - | workshop place,building_room,indoor workshop - -
factory place,building,indoor workshop - - | church place,building,indoor town - -
street place,outdoor town - - | castle place,building,indoor tale - -
house place,building,building_room,indoor home - - | village place,outdoor farm,tale - - | person person - m -
animal animal nature - -
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


def cells(table: str) -> list[list[str]]:
    """Return the fields of each cell of a table, whose cells are separated by " | " or lines."""
    texts = table.strip().replace("\n", " | ").split(" | ")
    return [text.split() for text in texts]


def _set(field: str) -> frozenset[str]:
    return frozenset(field.replace(",", " ").split()) - {"-"}


def _verbs() -> Iterator[tuple[str, VerbConcept]]:
    for line in _VERBS.strip().splitlines():
        concept, subject, objects, flags, manners, topics, places = line.split(" | ")
        verb = VerbConcept(
            subject=_set(subject),
            objects=_set(objects),
            flags=_set(flags),
            manners=tuple(manners.replace("-", "").split()),
            topics=_set(topics),
            places=tuple(places.replace("-", "").split()),
        )
        yield concept, verb


NOUNS: dict[str, NounConcept] = {
    concept: NounConcept(_set(tags), _set(topics), gender.strip("-"), hypernym.strip("-"))
    for concept, tags, topics, gender, hypernym in cells(_NOUNS)
}
VERBS: dict[str, VerbConcept] = dict(_verbs())
ADJECTIVES: dict[str, AdjectiveConcept] = {
    concept: AdjectiveConcept(_set(tags), antonym.replace("-", ""), concept in _LASTING.split())
    for concept, tags, antonym in cells(_ADJECTIVES)
}
# concept -> tense
TIMES: dict[str, str] = {
    time: tense for tense, times in _TIMES.items() for time in times.split()
}
GIVEN: dict[str, str] = dict(cells(_GIVEN))  # given name -> gender
TOPICS: tuple[str, ...] = tuple(
    sorted({topic for noun in NOUNS.values() for topic in noun.topics})
)
CONCEPTS: tuple[str, ...] = (
    *NOUNS, *VERBS, *ADJECTIVES, *TIMES, *MANNERS, *GIVEN, *SURNAMES, *TOWNS, *DETERMINERS,
)  # fmt: skip
"""All concepts; a language has a word for each."""
