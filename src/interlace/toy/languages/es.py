"""Spanish: agreement in gender and number, adjectives after nouns, personal a, ser, estar and hay."""

import re
from functools import cache
from typing import NamedTuple

from interlace.toy.concepts import NOUNS, NUMERALS, cells
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import (
    LATIN_NAMES,
    Clause,
    Token,
    Tokens,
    citation_forms,
    entries,
    word_map,
)

# ---- words ----

_PLURALS = {"joven": "jóvenes", "paraguas": "paraguas"}
_BARE_VOWEL = str.maketrans("áéíóú", "aeiou")


@cache
def _plural(word: str) -> str:
    """Return the plural. The accent of a last syllable in n or s is dropped (ladrón, ladrones); joven gains one."""
    if word.endswith(tuple("aeiouáéíóú")):
        return word + "s"
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith("z"):
        return word[:-1] + "ces"
    if re.search("[áéíóú][ns]$", word):
        return word[:-2] + word[-2].translate(_BARE_VOWEL) + word[-1] + "es"
    return word + "es"


def _verb(
    infinitive: str, present: str, past: str, past_plural: str
) -> dict[str, tuple[str, str]]:
    """Return the third person, singular and plural, of each tense; the past of states is the imperfect."""
    stem = infinitive.replace("ír", "ir")
    return {
        "past": (past, past_plural),
        "present": (present, present + "n"),
        "future": (stem + "á", stem + "án"),
    }


class _Noun(NamedTuple):
    singular: str
    gender: str  # m, f; F: feminine, but after "el" and "un", as it begins with a stressed a (el águila blanca)


_NOUNS = """
doctor médico m | nurse enfermera f | patient paciente m | dentist dentista f | teacher maestra f
student estudiante m | pupil alumna f | professor profesor m | scientist científica f | writer escritor m
journalist periodista f | secretary secretaria f | chef cocinero m | waiter camarero m | baker panadero m
farmer granjero m | gardener jardinero m | shepherd pastor m | fisherman pescador m | sailor marinero m
captain capitán m | pilot piloto f | driver conductor m | tourist turista m | musician músico m | singer cantante f
dancer bailarina f | painter pintor m | actor actor m | photographer fotógrafa f | engineer ingeniera f
mechanic mecánico m | carpenter carpintero m | worker obrero m | policeman policía m | judge jueza f
lawyer abogado m | thief ladrón m | merchant comerciante m | customer clienta f | neighbor vecina f | guest invitado m
mother madre f | father padre m | grandmother abuela f | grandfather abuelo m | brother hermano m | sister hermana f
boy niño m | girl niña f | man hombre m | woman mujer f | king rey m | queen reina f | soldier soldado m
person persona f | animal animal m
dog perro m | cat gato m | horse caballo m | cow vaca f | sheep oveja f | goat cabra f | pig cerdo m | hen gallina f
duck pato m | mouse ratón m | rabbit conejo m | wolf lobo m | bear oso m | lion león m | elephant elefante m
monkey mono m | snake serpiente f | frog rana f | bee abeja f | eagle águila F | fish pez m
apple manzana f | banana plátano m | pear pera f | potato patata f | tomato tomate m | carrot zanahoria f
egg huevo m | cake pastel m | bread pan m | cheese queso m | rice arroz m | meat carne f | soup sopa f | honey miel f
chocolate chocolate m | water agua F | milk leche f | tea té m | coffee café m | juice zumo m | wine vino m
book libro m | letter carta f | newspaper periódico m | poem poema m | report informe m | map mapa m
message mensaje m | hammer martillo m | knife cuchillo m | axe hacha F | saw sierra f | rope cuerda f | bucket cubo m
ladder escalera f | key llave f | lamp lámpara f | plate plato m | cup taza f | spoon cuchara f | bottle botella f
hat sombrero m | coat abrigo m | shirt camisa f | shoe zapato m | dress vestido m | scarf bufanda f | table mesa f
chair silla f | bed cama f | cupboard armario m | door puerta f | window ventana f | mirror espejo m | car coche m
bicycle bicicleta f | boat barco m | truck camión m | bus autobús m | tractor tractor m | guitar guitarra f
violin violín m | piano piano m | flute flauta f | drum tambor m | trumpet trompeta f | computer ordenador m
telephone teléfono m | camera cámara f | radio radio f | clock reloj m | ball pelota f | doll muñeca f | gift regalo m
picture cuadro m | statue estatua f | stone piedra f | tree árbol m | flower flor f | bag bolsa f | box caja f
umbrella paraguas m | basket cesta f | ring anillo m | coin moneda f | ticket billete m | medicine medicina f
bandage venda f | tool herramienta f | vehicle vehículo m | instrument instrumento m
hospital hospital m | pharmacy farmacia f | school escuela f | university universidad f | library biblioteca f
office oficina f | kitchen cocina f | restaurant restaurante m | bakery panadería f | market mercado m | shop tienda f
farm granja f | field campo m | garden jardín m | forest bosque m | park parque m | lake lago m | river río m
beach playa f | harbor puerto m | island isla f | station estación f | airport aeropuerto m | hotel hotel m
museum museo m | theater teatro m | workshop taller m | factory fábrica f | church iglesia f | street calle f
castle castillo m | house casa f | village pueblo m
"""
NOUN = entries(_Noun, _NOUNS)
# concept, infinitive, third person present, third person past, singular and plural
_VERBS = """
sleep dormir duerme durmió durmieron | work trabajar trabaja trabajó trabajaron
laugh reír ríe rio rieron | cry llorar llora lloró lloraron | dance bailar baila bailó bailaron
sing cantar canta cantó cantaron | wait esperar espera esperó esperaron
swim nadar nada nadó nadaron | arrive llegar llega llegó llegaron | jump saltar salta saltó saltaron
go ir va fue fueron | travel viajar viaja viajó viajaron | return volver vuelve volvió volvieron
run correr corre corrió corrieron | eat comer come comió comieron | drink beber bebe bebió bebieron
cook cocinar cocina cocinó cocinaron | bake hornear hornea horneó hornearon
buy comprar compra compró compraron | sell vender vende vendió vendieron
read leer lee leyó leyeron | write escribir escribe escribió escribieron | see ver ve vio vieron
find encontrar encuentra encontró encontraron | lose perder pierde perdió perdieron
seek buscar busca buscó buscaron | help ayudar ayuda ayudó ayudaron
visit visitar visita visitó visitaron | greet saludar saluda saludó saludaron
call llamar llama llamó llamaron | invite invitar invita invitó invitaron
love amar ama amaba amaban | know conocer conoce conocía conocían
need necesitar necesita necesitaba necesitaban | follow seguir sigue siguió siguieron
photograph fotografiar fotografía fotografió fotografiaron | paint pintar pinta pintó pintaron
repair reparar repara reparó repararon | clean limpiar limpia limpió limpiaron
wash lavar lava lavó lavaron | open abrir abre abrió abrieron | close cerrar cierra cerró cerraron
wear llevar lleva llevaba llevaban | lift levantar levanta levantó levantaron
push empujar empuja empujó empujaron | drive conducir conduce condujo condujeron
play tocar toca tocó tocaron | hear oír oye oyó oyeron
build construir construye construyó construyeron | cut cortar corta cortó cortaron
plant plantar planta plantó plantaron | feed alimentar alimenta alimentó alimentaron
catch atrapar atrapa atrapó atraparon | steal robar roba robó robaron
hide esconder esconde escondió escondieron | forget olvidar olvida olvidó olvidaron
heal curar cura curó curaron | give dar da dio dieron | show mostrar muestra mostró mostraron
send enviar envía envió enviaron | bring traer trae trajo trajeron
"""
VERB = entries(_verb, _VERBS)
WORD = LATIN_NAMES | word_map("""
old viejo | young joven | new nuevo | big grande | small pequeño | long largo | short corto | heavy pesado
expensive caro | cheap barato | red rojo | blue azul | green verde | white blanco | black negro | yellow amarillo
beautiful hermoso | ugly feo | happy feliz | sad triste | tired cansado | hungry hambriento | rich rico | poor pobre
famous famoso | friendly amable | strong fuerte | weak débil | clean_quality limpio | dirty sucio | hot caliente
cold frío | fresh fresco | sweet dulce | empty vacío | full lleno | dangerous peligroso
slowly lentamente | quickly rápidamente | quietly silenciosamente | loudly ruidosamente | carefully cuidadosamente
happily alegremente | patiently pacientemente | secretly secretamente
two dos | three tres | four cuatro | five cinco | six seis | seven siete | eight ocho | nine nueve | ten diez
berlin Berlín | london Londres | paris París | madrid Madrid | istanbul Estambul | vienna Viena | rome Roma
moscow Moscú | beijing Pekín | new_delhi Nueva Delhi | tokyo Tokio | cairo El Cairo
""")
# take estar; others take ser
_ESTAR = frozenset(
    "happy sad tired hungry weak clean_quality dirty hot cold fresh empty full".split()
)
# concept, lemma, masculine, feminine
_DETERMINERS = """
the el el la | a uno un una | this este este esta | these este estos estas | many mucho muchos muchas
some alguno algunos algunas | every cada cada cada | no ninguno ningún ninguna
"""
DETERMINER = {concept: tuple(forms) for concept, *forms in cells(_DETERMINERS)}
TIME = word_map("""
yesterday ayer/ADV/wu | today hoy/ADV/wu | now ahora/ADV/wu | tomorrow mañana/ADV/wu
every_day todos/todo/DET/w los/el/DET/- días/día/NOUN/u
every_morning todas/todo/DET/w las/el/DET/- mañanas/mañana/NOUN/u
last_week la/el/DET/- semana/NOUN/u pasada/pasado/ADJ/w
next_week la/el/DET/- próxima/próximo/ADJ/w semana/NOUN/u
last_month el/el/DET/- mes/NOUN/u pasado/pasado/ADJ/w
next_month el/el/DET/- próximo/próximo/ADJ/w mes/NOUN/u
last_year el/el/DET/- año/NOUN/u pasado/pasado/ADJ/w
next_year el/el/DET/- próximo/próximo/ADJ/w año/NOUN/u
last_summer el/el/DET/- verano/NOUN/u pasado/pasado/ADJ/w
next_summer el/el/DET/- próximo/próximo/ADJ/w verano/NOUN/u
last_winter el/el/DET/- invierno/NOUN/u pasado/pasado/ADJ/w
next_winter el/el/DET/- próximo/próximo/ADJ/w invierno/NOUN/u
last_monday el/el/DET/- lunes/NOUN/u pasado/pasado/ADJ/w
next_monday el/el/DET/- próximo/próximo/ADJ/w lunes/NOUN/u
last_friday el/el/DET/- viernes/NOUN/u pasado/pasado/ADJ/w
next_friday el/el/DET/- próximo/próximo/ADJ/w viernes/NOUN/u
""")
WORDS = citation_forms(
    {concept: noun.singular for concept, noun in NOUN.items()},
    {concept: infinitive for concept, infinitive, *_ in cells(_VERBS)},
    WORD,
    {concept: masculine for concept, (_, masculine, _) in DETERMINER.items()},
    times=TIME,
)


# ---- grammar ----

_BE = {
    "ser": {"past": ("era", "eran"), "present": ("es", "son"), "future": ("será", "serán")},
    "estar": {
        "past": ("estaba", "estaban"),
        "present": ("está", "están"),
        "future": ("estará", "estarán"),
    },
}
_THERE_IS = {"past": "había", "present": "hay", "future": "habrá"}
_VAGUE = frozenset({"a", *NUMERALS, "many", "some"})
# Animals take the personal a with verbs that treat them like persons, and if they are definite and not traded.
_AFFECTING = frozenset({"follow", "heal", "feed", "love", "wash"})
_TRADING = frozenset({"buy", "sell", "catch"})


class _Clause(Clause):
    times = TIME
    when_word = "cuándo"
    adpositions = {"recipient": "a", "goal": "a", "companion": "con"}
    contractions = {("a", "el"): "al"}

    def tokens(self) -> Tokens:
        scene = self.scene
        exists = self.exists()
        predicate: Tokens = []
        if exists:
            verb = self.existence()
        elif scene.predicate == "be":
            verb, predicate = self.state()
        else:
            verb = self.event()
        subject = self.parts("subject")
        time = self.parts("time")
        phrases: Tokens = []
        if exists or scene.predicate != "be":
            phrases = self.parts("object recipient goal manner companion place")
        if scene.negated:
            verb.insert(0, Token("no", "ADV", "negation", "advmod"))
        if not self.wh_role:
            if exists:
                clause = [*verb, *subject, *phrases]
            else:
                clause = [*subject, *verb, *predicate, *phrases]
            return time + clause if scene.fronted else clause + time
        if scene.place:  # "¿Cuándo estaba fría la sopa?"
            body = subject + predicate
        else:
            body = predicate + subject
        question = [*self.front, *verb, *body, *phrases, *time]
        question[0].space = False
        return [Token("¿", "PUNCT", "stop", "punct"), *question]

    def exists(self) -> bool:
        """Whether the verb is hay: "hay tres perros en el parque", not "están"."""
        scene = self.scene
        if scene.predicate != "be" or scene.denied or scene.place is None:
            return False
        return scene.subject.determiner in _VAGUE and self.wh_role != "subject"

    def existence(self) -> Tokens:
        form = _THERE_IS[self.scene.tense]
        self.root = Token(form, "VERB", "copula tense", lemma="haber")
        return [self.root]

    def state(self) -> tuple[Tokens, Tokens]:
        """Return the copula, and the predicate of "be"."""
        scene = self.scene
        predicate = self.predicate()
        copula = "estar"
        if scene.category or (scene.quality and scene.quality not in _ESTAR):
            copula = "ser"
        form = _BE[copula][scene.tense][self.plural]
        return [Token(form, "AUX", "copula tense", "cop", lemma=copula)], predicate

    def quality(self) -> Tokens:
        subject = self.scene.subject
        gender = "m"
        if self.wh_role != "subject":
            gender = subject.gender if subject.named else NOUN[subject.head].gender
        lemma = WORD[self.scene.quality]
        form = _adjective(lemma, gender, plural=self.plural)
        return [Token(form, "ADJ", "quality", lemma=lemma)]

    def category(self) -> Tokens:
        tokens = super().category()
        if "profession" in NOUNS[self.scene.category].tags:  # "es médica", but "es un ladrón"
            return tokens
        gender = NOUN[self.scene.category].gender
        return [_determiner("a", gender, "category", tokens[0]), *tokens]

    def event(self) -> Tokens:
        scene = self.scene
        form = VERB[scene.predicate][scene.tense][self.plural]
        self.root = Token(form, "VERB", "predicate tense", lemma=WORDS[scene.predicate])
        return [self.root]

    def adposition(self, role: str, phrase: Phrase) -> str:
        if role == "place":
            return "a" if self.scene.predicate == "arrive" else "en"
        if role == "object":
            return _personal(self.scene.predicate, phrase)
        return super().adposition(role, phrase)

    def relation(self, role: str, adposition: str) -> str:
        if role == "subject" and self.exists():
            return "obj"
        return super().relation(role, adposition)

    def question_words(self, phrase: Phrase, role: str, adposition: str) -> Tokens:
        if role in ("goal", "place"):
            form = "adónde" if adposition == "a" else "dónde"
            return [Token(form, "ADV", "question", "advmod")]
        if phrase.person:
            return [Token("quién", "PRON", "question")]
        if not adposition:
            return [Token("qué", "PRON", "question")]
        # "qué sigue el gato" would ask for the subject
        noun = Token("animal", "NOUN", "question")
        return [Token("qué", "DET", "question", "det", noun), noun]

    def phrase(self, phrase: Phrase, role: str, adposition: str) -> Tokens:  # noqa: ARG002
        """Return determiner (or "cuántos"), noun, quality."""
        if phrase.named:
            return self.named(phrase, role)
        word = NOUN[phrase.head]
        form = _plural(word.singular) if phrase.plural else word.singular
        noun = Token(form, "NOUN", ".head", lemma=word.singular)
        tokens = [noun]
        if phrase.quality:
            lemma = WORD[phrase.quality]
            form = _adjective(lemma, word.gender, plural=phrase.plural)
            tokens.append(Token(form, "ADJ", ".quality", "amod", noun, lemma))
        determiner = phrase.determiner
        roles = ".determiner"
        if role == "object" and self.scene.negated and determiner == "a":
            determiner = "no"
        elif role == "subject" and not determiner:  # only here mass nouns have an article
            determiner = "the"
            roles = ""
        if self.counts(role):
            form = "cuántos" if word.gender == "m" else "cuántas"
            tokens.insert(0, Token(form, "DET", "question", "det", noun, "cuánto"))
        elif determiner:
            tokens.insert(0, _determiner(determiner, word.gender, roles, noun))
        return tokens


def _personal(predicate: str, thing: Phrase) -> str:
    """Return the personal a of an object that is a person, or an animal treated as one."""
    if thing.person:
        return "a"
    if "animal" not in NOUNS[thing.head].tags or predicate in _TRADING:
        return ""
    is_identified = thing.definite or thing.determiner == "every"
    return "a" if is_identified or predicate in _AFFECTING else ""


def _adjective(masculine: str, gender: str, *, plural: bool) -> str:
    form = masculine
    if gender != "m":
        form = re.sub("o$", "a", masculine)
    return _plural(form) if plural else form


def _determiner(determiner: str, gender: str, roles: str, noun: Token) -> Token:
    """Return a determiner; stressed feminine nouns take el, un, ningún, but esta."""
    if determiner in NUMERALS:
        return Token(WORD[determiner], "NUM", roles, "nummod", noun)
    lemma, masculine, feminine = DETERMINER[determiner]
    like_masculine = gender == "m" or (gender == "F" and determiner in ("the", "a", "no"))
    return Token(masculine if like_masculine else feminine, "DET", roles, "det", noun, lemma)


class Spanish(ToyLanguage):
    """Statement: [time] subject no verb object a-recipient a-goal manner con-companion place [time]."""

    name = "Spanish"
    words = WORDS
    clause = _Clause
