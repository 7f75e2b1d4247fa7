"""Spanish: agreement in gender and number, adjectives after nouns, personal a, ser, estar and hay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from interlace.toy.concepts import GIVEN, NOUNS, NUMERALS, SURNAMES
from interlace.toy.languages import ToyLanguage
from interlace.toy.sentences import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    STOP,
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
    """stressed: feminine, but led by "el" and "un" because it begins with a stressed a (el águila blanca)."""

    singular: str
    plural: str
    gender: str  # m, f
    stressed: bool


class _Verb(NamedTuple):
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


def _plural(word: str) -> str:
    """Return the plural. The accent of a last syllable in n or s is dropped (ladrón, ladrones); joven gains one."""
    if word.endswith(tuple("aeiouáéíóú")):
        return word + "s"
    if word in ("joven", "paraguas"):
        return {"joven": "jóvenes"}.get(word, word)
    if word.endswith("z"):
        return word[:-1] + "ces"
    if re.search("[áéíóú][ns]$", word):
        return word[:-2] + word[-2].translate(_BARE_VOWEL) + word[-1] + "es"
    return word + "es"


def _noun(singular: str, gender: str) -> _Noun:
    return _Noun(singular, _plural(singular), gender.lower(), gender == "F")


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


def _verb_entry(infinitive: str, present: str, past: str) -> _Verb:
    stem = infinitive.replace("ír", "ir")
    return _Verb(
        infinitive, (past, _past_plural(infinitive, past)), (present, present + "n"), (stem + "á", stem + "án")
    )


NOUN: dict[str, _Noun] = {concept: _noun(*rest) for concept, *rest in cells(_NOUNS)}
VERB: dict[str, _Verb] = {concept: _verb_entry(*rest) for concept, *rest in cells(_VERBS)}
ADJECTIVE: dict[str, dict[tuple[str, bool], str]] = {  # concept -> gender and plural -> form
    concept: _adjective(word) for concept, word, _ in cells(_ADJECTIVES)
}
COPULA_OF: dict[str, str] = {concept: copula for concept, _, copula in cells(_ADJECTIVES)}
MANNER_WORD = word_map(_MANNERS)
NUMBER_WORD = word_map(_NUMERALS)
NAME: dict[str, str] = {name: name.title() for name in (*GIVEN, *SURNAMES)} | _TOWNS
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
WORDS = citation_forms(
    {concept: noun.singular for concept, noun in NOUN.items()},
    {concept: verb.infinitive for concept, verb in VERB.items()},
    {concept: forms["m", False] for concept, forms in ADJECTIVE.items()},
    MANNER_WORD,
    NUMBER_WORD,
    {concept: forms[1] for concept, forms in DETERMINER.items()},
    NAME,
    times=TIME,
)


# ---- grammar ----

_BE = {
    "ser": {"past": ("era", "eran"), "present": ("es", "son"), "future": ("será", "serán")},
    "estar": {"past": ("estaba", "estaban"), "present": ("está", "están"), "future": ("estará", "estarán")},
}
_THERE_IS = {"past": "había", "present": "hay", "future": "habrá"}
_VAGUE = frozenset({"a", *NUMERALS, "many", "some"})  # "hay tres perros en el parque", not "están"
_UNKNOWN = {
    "recipient": "a quién", "companion": "con quién", "goal": "adónde", "place": "dónde", "time": "cuándo",
}  # fmt: skip
# Animals take the personal a with verbs that treat them like persons, and if they are definite and not traded.
_AFFECTING = frozenset({"follow", "heal", "feed", "love", "wash"})
_TRADING = frozenset({"buy", "sell", "catch"})


class Spanish(ToyLanguage):
    """Statement: [time] subject no verb object a-recipient a-goal manner con-companion place [time]."""

    code: ClassVar[str] = "es"
    name: ClassVar[str] = "Spanish"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realize(self, scene: Scene) -> ToySentence:
        """Return the statement of a scene with its gold annotation."""
        there = _there(scene)
        root, predicate = (_there_is(scene), []) if there else _root(scene, scene.subject)
        subject = _subject(scene, root, "obj" if there else "nsubj")
        verb = [root] if there else _verb(scene, root, scene.subject.plural)
        body = [*verb, *subject] if there else [*subject, *verb]
        time = time_tokens(TIME[scene.time], root) if scene.time else []
        front, back = (time, []) if scene.fronted else ([], time)
        return finish([*front, *body, *predicate, *_rest(scene, root, place=there), *back])

    def question(self, scene: Scene, role: str) -> ToySentence:
        """Return the question whose answer in the statement is `role`."""
        about, _, count = role.partition(".")
        of_subject = about == "subject"
        there = _there(scene) and role != "subject"
        one = of_subject and not count
        root, predicate = (_there_is(scene), []) if there else _root(scene, None if one else scene.subject, role)
        wh_role = _wh_phrase(scene, role, root, there=there)
        verb = [root] if there else _verb(scene, root, not one and scene.subject.plural)
        subject = [] if of_subject else _subject(scene, root, "obj" if there else "nsubj")
        body = [*subject, *predicate] if scene.place else [*predicate, *subject]  # "¿Cuándo estaba fría la sopa?"
        time = time_tokens(TIME[scene.time], root) if scene.time and role != "time" else []
        return _question(root, [*wh_role, *verb, *body, *_rest(scene, root, about, place=there), *time])


def _question(root: Token, tokens: list[Token]) -> ToySentence:
    opening = Token("¿", "¿", "PUNCT", STOP, "punct", root)
    tokens[0].space = False
    return finish([opening, *tokens], "?")


def _there(scene: Scene) -> bool:
    """Whether the sentence is existential (hay): a place with an indefinite subject."""
    place = scene.predicate == "be" and scene.place is not None
    return place and scene.subject.determiner in _VAGUE and not scene.denied


def _there_is(scene: Scene) -> Token:
    return Token(_THERE_IS[scene.tense], "haber", "VERB", (*COPULA, *TENSE), "root")


def _root(scene: Scene, subject: Phrase | None, wh_role: str = "") -> tuple[Token, list[Token]]:
    """Return the head of the clause and, for "be", the tokens of its predicate, which agree with the subject."""
    if scene.predicate != "be":
        return Token("", VERB[scene.predicate].infinitive, "VERB", (*PREDICATE, *TENSE), "root"), []
    if scene.quality:
        forms = ADJECTIVE[scene.quality]
        gender = _gender(subject) if subject else "m"
        form = forms[gender, subject is not None and subject.plural]
        root = Token(form, forms["m", False], "ADJ", QUALITY, "root")
        return root, [root]
    if scene.category:
        return _category(scene.category)
    if wh_role == "place" or scene.place is None:  # "¿Dónde está la llave?"
        return Token("dónde", "dónde", "ADV", QUESTION, "root"), []
    phrase = _phrase(scene.place, "place", "root", None, "en")
    return next(token for token in phrase if token.head is None), phrase


def _category(concept: str) -> tuple[Token, list[Token]]:
    """Return a category; professions have no article: "es médica", but "es un ladrón"."""
    noun = NOUN[concept]
    root = Token(noun.singular, noun.singular, "NOUN", CATEGORY, "root")
    if "profession" in NOUNS[concept].tags:
        return root, [root]
    return root, [_determiner("a", noun.gender, noun.stressed, CATEGORY, root), root]


def _verb(scene: Scene, root: Token, plural: bool) -> list[Token]:
    """Return the negation and the finite verb or copula."""
    tokens = [Token("no", "no", "ADV", NEGATION, "advmod", root)] if scene.negated else []
    if scene.predicate != "be":
        root.form = getattr(VERB[scene.predicate], scene.tense)[plural]
        return [*tokens, root]
    lemma = COPULA_OF[scene.quality] if scene.quality else "ser" if scene.category else "estar"
    return [*tokens, Token(_BE[lemma][scene.tense][plural], lemma, "AUX", (*COPULA, *TENSE), "cop", root)]


def _subject(scene: Scene, root: Token, deprel: str) -> list[Token]:
    """Return the subject; only here a mass noun has an article ("la leche está fría")."""
    tokens = _phrase(scene.subject, "subject", deprel, root)
    if scene.subject.named or scene.subject.determiner:
        return tokens
    noun = NOUN[scene.subject.head]
    return [_determiner("the", noun.gender, noun.stressed, (), tokens[0]), *tokens]


def _rest(scene: Scene, root: Token, without: str = "", *, place: bool) -> list[Token]:
    """Return everything after the verb except the time; the place also after "hay" (`place`)."""
    tokens: list[Token] = []
    if scene.object and without != "object":
        determiner = "no" if scene.negated and scene.object.determiner == "a" else scene.object.determiner
        tokens += _phrase(scene.object._replace(determiner=determiner), "object", "obj", root, _personal(scene))
    if scene.recipient and without != "recipient":
        tokens += _phrase(scene.recipient, "recipient", "iobj", root, "a")
    if scene.goal and without != "goal":
        tokens += _phrase(scene.goal, "goal", "obl", root, "a")
    if scene.manner:
        tokens.append(Token(MANNER_WORD[scene.manner], MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root))
    if scene.companion and without != "companion":
        tokens += _phrase(scene.companion, "companion", "obl", root, "con")
    if scene.place and (place or scene.predicate != "be") and without != "place":
        tokens += _phrase(scene.place, "place", "obl", root, "a" if scene.predicate == "arrive" else "en")
    return tokens


def _personal(scene: Scene) -> str:
    """Return the personal a of an object that is a person, or an animal treated as one."""
    thing = scene.object
    if thing is None or thing.person:
        return "a" if thing else ""
    if "animal" not in NOUNS[thing.head].tags or scene.predicate in _TRADING:
        return ""
    known = thing.definite or thing.determiner == "every"
    return "a" if known or scene.predicate in _AFFECTING else ""


def _wh_phrase(scene: Scene, role: str, root: Token, *, there: bool) -> list[Token]:
    """Return the question phrase; its words have the role "question", so questions can be aligned too."""
    about, _, count = role.partition(".")
    if count:
        phrase: Phrase = getattr(scene, about)
        if about == "subject":
            return _phrase(phrase, about, "obj" if there else "nsubj", root, counted=True)
        return _phrase(phrase, about, "obj", root, _personal(scene), counted=True)
    if about == "subject":
        return [Token("quién", "quién", "PRON", QUESTION, "nsubj", root)]
    if about == "object" and scene.object:
        return _wh_object(scene.object, _personal(scene), root)
    if root.roles == QUESTION:
        return [root]
    first, _, second = _UNKNOWN[role].partition(" ")
    if second:
        deprel = "iobj" if role == "recipient" else "obl"
        who = Token(second, second, "PRON", QUESTION, deprel, root)
        return [Token(first, first, "ADP", QUESTION, "case", who), who]
    form = "adónde" if role == "place" and scene.predicate == "arrive" else first
    return [Token(form, form, "ADV", QUESTION, "advmod", root)]


def _wh_object(phrase: Phrase, preposition: str, root: Token) -> list[Token]:
    """Whom, what, or "a qué animal": a bare "qué sigue el gato" would ask for the subject."""
    if not preposition:
        return [Token("qué", "qué", "PRON", QUESTION, "obj", root)]
    if phrase.person:
        noun = Token("quién", "quién", "PRON", QUESTION, "obj", root)
        return [Token(preposition, preposition, "ADP", QUESTION, "case", noun), noun]
    noun = Token("animal", "animal", "NOUN", QUESTION, "obj", root)
    which = Token("qué", "qué", "DET", QUESTION, "det", noun)
    return [Token(preposition, preposition, "ADP", QUESTION, "case", noun), which, noun]


def _gender(phrase: Phrase) -> str:
    return phrase.gender if phrase.named else NOUN[phrase.head].gender


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token | None, preposition: str = "", *, counted: bool = False
) -> list[Token]:
    """Return a participant: preposition, determiner (or "cuántos"), noun, quality."""
    roles = part(role)
    if phrase.named:
        tokens = person_or_town(phrase, NAME, role, deprel, head)
        return _with(preposition, tokens, tokens[0], roles.relation)
    word = NOUN[phrase.head]
    noun = Token(word.plural if phrase.plural else word.singular, word.singular, "NOUN", roles.head, deprel, head)
    tokens = [noun]
    if phrase.quality:
        forms = ADJECTIVE[phrase.quality]
        form = forms[word.gender, phrase.plural]
        tokens.append(Token(form, forms["m", False], "ADJ", roles.quality, "amod", noun))
    if counted:
        many = "cuántos" if word.gender == "m" else "cuántas"
        tokens.insert(0, Token(many, "cuánto", "DET", QUESTION, "det", noun))
    elif phrase.determiner:
        tokens.insert(0, _determiner(phrase.determiner, word.gender, word.stressed, roles.determiner, noun))
    return _with(preposition, tokens, noun, roles.relation)


def _with(preposition: str, tokens: list[Token], noun: Token, roles: Roles) -> list[Token]:
    """Prepend a preposition; a el becomes al, with the roles of both; names keep their article (a El Cairo)."""
    if not preposition:
        return tokens
    first = Token(preposition, preposition, "ADP", roles, "case", noun)
    if preposition == "a" and tokens[0].form == "el":
        first.form = "al"
        first.roles = (*roles, *tokens[0].roles)
        return [first, *tokens[1:]]
    return [first, *tokens]


def _determiner(determiner: str, gender: str, stressed: bool, roles: Roles, noun: Token) -> Token:
    """Return a determiner; stressed feminine nouns take el, un, ningún, but esta."""
    if determiner in NUMERALS:
        word = NUMBER_WORD[determiner]
        return Token(word, word, "NUM", roles, "nummod", noun)
    lemma, masculine, feminine = DETERMINER[determiner]
    like_masculine = gender == "m" or (stressed and determiner in ("the", "a", "no"))
    return Token(masculine if like_masculine else feminine, lemma, "DET", roles, "det", noun)
