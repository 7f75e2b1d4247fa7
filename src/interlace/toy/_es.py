"""Spanish words: gender and plural of nouns, adjectives and the "be" they take, principal parts of verbs."""

from __future__ import annotations

import re
from typing import NamedTuple

from interlace.toy._concepts import CONCEPTS, GIVEN, SURNAMES
from interlace.toy._tokens import phrase_of_time


class Noun(NamedTuple):
    """stressed: feminine, but led by "el" and "un" because it begins with a stressed a (el águila blanca)."""

    singular: str
    plural: str
    gender: str  # m, f
    stressed: bool


class Verb(NamedTuple):
    """Third person, singular and plural, of each tense. The past of states is the imperfect, else the preterite."""

    infinitive: str
    past: tuple[str, str]
    present: tuple[str, str]
    future: tuple[str, str]


# concept, singular, gender (F: feminine and stressed)
_NOUNS = """
doctor médico m | nurse enfermera f | patient paciente m | dentist dentista f | teacher maestra f
student estudiante m | pupil alumna f | professor profesor m | scientist científica f | writer escritor m
journalist periodista f | secretary secretaria f | chef cocinero m | waiter camarero m | baker panadero m
farmer granjero m | gardener jardinero m | shepherd pastor m | fisherman pescador m | sailor marinero m
captain capitán m | pilot piloto f | driver conductor m | tourist turista m | musician músico m | singer cantante f
dancer bailarina f | painter pintor m | actor actor m | photographer fotógrafa f | engineer ingeniera f
mechanic mecánico m | carpenter carpintero m | worker obrero m | policeman policía m | judge jueza f | lawyer abogado m
thief ladrón m | merchant comerciante m | customer clienta f | neighbor vecina f | guest invitado m | mother madre f
father padre m | grandmother abuela f | grandfather abuelo m | brother hermano m | sister hermana f | boy niño m
girl niña f | man hombre m | woman mujer f | king rey m | queen reina f | soldier soldado m | person persona f
animal animal m
dog perro m | cat gato m | horse caballo m | cow vaca f | sheep oveja f | goat cabra f | pig cerdo m | hen gallina f
duck pato m | mouse ratón m | rabbit conejo m | wolf lobo m | bear oso m | lion león m | elephant elefante m
monkey mono m | snake serpiente f | frog rana f | bee abeja f | eagle águila F | fish pez m
apple manzana f | banana plátano m | pear pera f | potato patata f | tomato tomate m | carrot zanahoria f | egg huevo m
cake pastel m | bread pan m | cheese queso m | rice arroz m | meat carne f | soup sopa f | honey miel f
chocolate chocolate m | water agua F | milk leche f | tea té m | coffee café m | juice zumo m | wine vino m
book libro m | letter carta f | newspaper periódico m | poem poema m | report informe m | map mapa m | message mensaje m
hammer martillo m | knife cuchillo m | axe hacha F | saw sierra f | rope cuerda f | bucket cubo m | ladder escalera f
key llave f | lamp lámpara f | plate plato m | cup taza f | spoon cuchara f | bottle botella f | hat sombrero m
coat abrigo m | shirt camisa f | shoe zapato m | dress vestido m | scarf bufanda f | table mesa f | chair silla f
bed cama f | cupboard armario m | door puerta f | window ventana f | mirror espejo m | car coche m | bicycle bicicleta f
boat barco m | truck camión m | bus autobús m | tractor tractor m | guitar guitarra f | violin violín m | piano piano m
flute flauta f | drum tambor m | trumpet trompeta f | computer ordenador m | telephone teléfono m | camera cámara f
radio radio f | clock reloj m | ball pelota f | doll muñeca f | gift regalo m | picture cuadro m | statue estatua f
stone piedra f | tree árbol m | flower flor f | bag bolsa f | box caja f | umbrella paraguas m | basket cesta f
ring anillo m | coin moneda f | ticket billete m | medicine medicina f | bandage venda f | tool herramienta f
vehicle vehículo m | instrument instrumento m
hospital hospital m | pharmacy farmacia f | school escuela f | university universidad f | library biblioteca f
office oficina f | kitchen cocina f | restaurant restaurante m | bakery panadería f | market mercado m | shop tienda f
farm granja f | field campo m | garden jardín m | forest bosque m | park parque m | lake lago m | river río m
beach playa f | harbor puerto m | island isla f | station estación f | airport aeropuerto m | hotel hotel m
museum museo m | theater teatro m | workshop taller m | factory fábrica f | church iglesia f | street calle f
castle castillo m | house casa f | village pueblo m
"""
# concept, infinitive, third person present, third person past
_VERBS = """
sleep dormir duerme durmió | work trabajar trabaja trabajó | laugh reír ríe rio | cry llorar llora lloró
dance bailar baila bailó | sing cantar canta cantó | wait esperar espera esperó | swim nadar nada nadó
arrive llegar llega llegó | jump saltar salta saltó | go ir va fue | travel viajar viaja viajó
return volver vuelve volvió | run correr corre corrió | eat comer come comió | drink beber bebe bebió
cook cocinar cocina cocinó | bake hornear hornea horneó | buy comprar compra compró | sell vender vende vendió
read leer lee leyó | write escribir escribe escribió | see ver ve vio | find encontrar encuentra encontró
lose perder pierde perdió | seek buscar busca buscó | help ayudar ayuda ayudó | visit visitar visita visitó
greet saludar saluda saludó | call llamar llama llamó | invite invitar invita invitó | love amar ama amaba
know conocer conoce conocía | need necesitar necesita necesitaba | follow seguir sigue siguió
photograph fotografiar fotografía fotografió | paint pintar pinta pintó | repair reparar repara reparó
clean limpiar limpia limpió | wash lavar lava lavó | open abrir abre abrió | close cerrar cierra cerró
wear llevar lleva llevaba | lift levantar levanta levantó | push empujar empuja empujó | drive conducir conduce condujo
play tocar toca tocó | hear oír oye oyó | build construir construye construyó | cut cortar corta cortó
plant plantar planta plantó | feed alimentar alimenta alimentó | catch atrapar atrapa atrapó | steal robar roba robó
hide esconder esconde escondió | forget olvidar olvida olvidó | heal curar cura curó | give dar da dio
show mostrar muestra mostró | send enviar envía envió | bring traer trae trajo
"""
_PAST_PLURALS = {"fue": "fueron", "condujo": "condujeron", "trajo": "trajeron", "dio": "dieron"}
# concept, masculine singular, the copula it takes as a predicate
_ADJECTIVES = """
old viejo ser | young joven ser | new nuevo ser | big grande ser | small pequeño ser | long largo ser
short corto ser | heavy pesado ser | expensive caro ser | cheap barato ser | red rojo ser | blue azul ser
green verde ser | white blanco ser | black negro ser | yellow amarillo ser | beautiful hermoso ser | ugly feo ser
happy feliz estar | sad triste estar | tired cansado estar | hungry hambriento estar | rich rico ser | poor pobre ser
famous famoso ser | friendly amable ser | strong fuerte ser | weak débil estar | clean_quality limpio estar
dirty sucio estar | hot caliente estar | cold frío estar | fresh fresco estar | sweet dulce ser | empty vacío estar
full lleno estar | dangerous peligroso ser
"""
_MANNERS = """
slowly lentamente | quickly rápidamente | quietly silenciosamente | loudly ruidosamente | carefully cuidadosamente
happily alegremente | patiently pacientemente | secretly secretamente
"""
_NUMERALS = """
two dos | three tres | four cuatro | five cinco | six seis | seven siete | eight ocho | nine nueve | ten diez
"""
DETERMINER: dict[str, tuple[str, str, str]] = {  # lemma, masculine, feminine
    "the": ("el", "el", "la"), "a": ("uno", "un", "una"), "this": ("este", "este", "esta"),
    "these": ("este", "estos", "estas"), "many": ("mucho", "muchos", "muchas"),
    "some": ("alguno", "algunos", "algunas"), "every": ("cada", "cada", "cada"), "no": ("ninguno", "ningún", "ninguna"),
}  # fmt: skip
_TOWNS = {
    "berlin": "Berlín", "london": "Londres", "paris": "París", "madrid": "Madrid", "istanbul": "Estambul",
    "vienna": "Viena", "rome": "Roma", "moscow": "Moscú", "beijing": "Pekín", "new_delhi": "Nueva Delhi",
    "tokyo": "Tokio", "cairo": "El Cairo",
}  # fmt: skip
_TIMES = {
    "yesterday": "ayer/=/ADV/wu", "last_week": "la/el/DET/- semana/=/NOUN/u pasada/pasado/ADJ/w",
    "last_month": "el/=/DET/- mes/=/NOUN/u pasado/=/ADJ/w", "last_year": "el/=/DET/- año/=/NOUN/u pasado/=/ADJ/w",
    "last_summer": "el/=/DET/- verano/=/NOUN/u pasado/=/ADJ/w",
    "last_winter": "el/=/DET/- invierno/=/NOUN/u pasado/=/ADJ/w",
    "last_monday": "el/=/DET/- lunes/=/NOUN/u pasado/=/ADJ/w",
    "last_friday": "el/=/DET/- viernes/=/NOUN/u pasado/=/ADJ/w",
    "today": "hoy/=/ADV/wu", "now": "ahora/=/ADV/wu", "every_day": "todos/todo/DET/w los/el/DET/- días/día/NOUN/u",
    "every_morning": "todas/todo/DET/w las/el/DET/- mañanas/mañana/NOUN/u", "tomorrow": "mañana/=/ADV/wu",
    "next_week": "la/el/DET/- próxima/próximo/ADJ/w semana/=/NOUN/u",
    "next_month": "el/=/DET/- próximo/=/ADJ/w mes/=/NOUN/u", "next_year": "el/=/DET/- próximo/=/ADJ/w año/=/NOUN/u",
    "next_summer": "el/=/DET/- próximo/=/ADJ/w verano/=/NOUN/u",
    "next_winter": "el/=/DET/- próximo/=/ADJ/w invierno/=/NOUN/u",
    "next_monday": "el/=/DET/- próximo/=/ADJ/w lunes/=/NOUN/u",
    "next_friday": "el/=/DET/- próximo/=/ADJ/w viernes/=/NOUN/u",
}  # fmt: skip
_BARE_VOWEL = str.maketrans("áéíóú", "aeiou")


def _cells(table: str) -> list[list[str]]:
    return [cell.split() for line in table.strip().splitlines() for cell in line.split(" | ")]


def _plural(word: str) -> str:
    """A written accent on a last syllable in n or s falls (ladrón, ladrones); joven gains one."""
    if word.endswith(tuple("aeiouáéíóú")):
        return word + "s"
    if word in ("joven", "paraguas"):
        return {"joven": "jóvenes"}.get(word, word)
    if word.endswith("z"):
        return word[:-1] + "ces"
    if re.search("[áéíóú][ns]$", word):
        return word[:-2] + word[-2].translate(_BARE_VOWEL) + word[-1] + "es"
    return word + "es"


def _noun(singular: str, gender: str) -> Noun:
    return Noun(singular, _plural(singular), gender.lower(), gender == "F")


def _adjective(masculine: str) -> dict[tuple[str, bool], str]:
    feminine = masculine[:-1] + "a" if masculine.endswith("o") else masculine
    singular = {"m": masculine, "f": feminine}
    return {(gender, plural): _plural(form) if plural else form
            for gender, form in singular.items() for plural in (False, True)}  # fmt: skip


def _past_plural(infinitive: str, past: str) -> str:
    if past in _PAST_PLURALS:
        return _PAST_PLURALS[past]
    if past.endswith("a"):  # imperfect
        return past + "n"
    if infinitive.endswith("ar"):
        return past[:-1] + "aron"
    return past[:-1] + ("eron" if past.endswith(("yó", "ió", "io")) else "ieron")


def _verb(infinitive: str, present: str, past: str) -> Verb:
    stem = infinitive.replace("ír", "ir")
    return Verb(infinitive, (past, _past_plural(infinitive, past)), (present, present + "n"), (stem + "á", stem + "án"))


def _plain(table: str) -> dict[str, str]:
    return dict(_cells(table))


NOUN: dict[str, Noun] = {concept: _noun(*rest) for concept, *rest in _cells(_NOUNS)}
VERB: dict[str, Verb] = {concept: _verb(*rest) for concept, *rest in _cells(_VERBS)}
ADJECTIVE: dict[str, dict[tuple[str, bool], str]] = {  # concept -> gender and plural -> form
    concept: _adjective(word) for concept, word, _ in _cells(_ADJECTIVES)
}
COPULA_OF: dict[str, str] = {concept: copula for concept, _, copula in _cells(_ADJECTIVES)}
MANNER_WORD = _plain(_MANNERS)
NUMBER_WORD = _plain(_NUMERALS)
NAME: dict[str, str] = {name: name.title() for name in (*GIVEN, *SURNAMES)} | _TOWNS
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
_ALL: dict[str, str] = (
    {concept: noun.singular for concept, noun in NOUN.items()}
    | {concept: verb.infinitive for concept, verb in VERB.items()}
    | {concept: forms["m", False] for concept, forms in ADJECTIVE.items()}
    | MANNER_WORD
    | NUMBER_WORD
    | {concept: forms[1] for concept, forms in DETERMINER.items()}
    | NAME
    | {time: " ".join(row[0] for row in rows) for time, rows in TIME.items()}
)
WORDS: dict[str, str] = {concept: _ALL[concept] for concept in CONCEPTS}
