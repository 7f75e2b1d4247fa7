"""Turkish words: stems and how they soften, compounds, light verbs, and verbs that differ by their object."""

from __future__ import annotations

from interlace.toy._concepts import CONCEPTS, GIVEN, NOUNS, SURNAMES
from interlace.toy._tokens import phrase_of_time
from interlace.toy._tr_suffixes import Noun, Verb, ending

# concept, word; "+" joins a compound, "/" leads the stem before vowels, "*" the plural of a compound with the
# possessive suffix, "^" marks front vowels behind back ones
_NOUNS = """
doctor doktor | nurse hemşire | patient hasta | dentist dişçi | teacher öğretmen | student öğrenci | pupil talebe
professor profesör | scientist bilim+insanı*insanları | writer yazar | journalist gazeteci | secretary sekreter
chef aşçı | waiter garson | baker fırıncı | farmer çiftçi | gardener bahçıvan | shepherd çoban | fisherman balıkçı
sailor denizci | captain kaptan | pilot pilot | driver şoför | tourist turist | musician müzisyen | singer şarkıcı
dancer dansçı | painter ressam | actor oyuncu | photographer fotoğrafçı | engineer mühendis | mechanic tamirci
carpenter marangoz | worker işçi | policeman polis | judge yargıç/yargıc | lawyer avukat | thief hırsız
merchant tüccar | customer müşteri | neighbor komşu | guest misafir | mother anne | father baba
grandmother büyükanne | grandfather büyükbaba | brother erkek+kardeş | sister kız+kardeş | boy oğlan | girl kız
man adam | woman kadın | king kral | queen kraliçe | soldier asker | person kişi | animal hayvan
dog köpek/köpeğ | cat kedi | horse at | cow inek/ineğ | sheep koyun | goat keçi | pig domuz | hen tavuk/tavuğ
duck ördek/ördeğ | mouse fare | rabbit tavşan | wolf kurt/kurd | bear ayı | lion aslan | elephant fil | monkey maymun
snake yılan | frog kurbağa | bee arı | eagle kartal | fish balık/balığ
apple elma | banana muz | pear armut/armud | potato patates | tomato domates | carrot havuç/havuc | egg yumurta
cake kek | bread ekmek/ekmeğ | cheese peynir | rice pirinç/pirinc | meat et | soup çorba | honey bal
chocolate çikolata | water su | milk süt | tea çay | coffee kahve | juice meyve+suyu*suları | wine şarap/şarab
book kitap/kitab | letter mektup/mektub | newspaper gazete | poem şiir | report rapor | map harita | message mesaj
hammer çekiç/çekic | knife bıçak/bıçağ | axe balta | saw testere | rope ip | bucket kova | ladder merdiven
key anahtar | lamp lamba | plate tabak/tabağ | cup fincan | spoon kaşık/kaşığ | bottle şişe | hat şapka | coat palto
shirt gömlek/gömleğ | shoe ayakkabı | dress elbise | scarf atkı | table masa | chair sandalye | bed yatak/yatağ
cupboard dolap/dolab | door kapı | window pencere | mirror ayna | car araba | bicycle bisiklet | boat tekne
truck kamyon | bus otobüs | tractor traktör | guitar gitar | violin keman | piano piyano | flute flüt | drum davul
trumpet trompet | computer bilgisayar | telephone telefon | camera kamera | radio radyo | clock saat^ | ball top
doll oyuncak+bebek/bebeğ | gift hediye | picture tablo | statue heykel | stone taş | tree ağaç/ağac | flower çiçek/çiçeğ
bag çanta | box kutu | umbrella şemsiye | basket sepet | ring yüzük/yüzüğ | coin madeni+para | ticket bilet
medicine ilaç/ilac | bandage bandaj | tool alet | vehicle taşıt | instrument çalgı
hospital hastane | pharmacy eczane | school okul | university üniversite | library kütüphane | office ofis
kitchen mutfak/mutfağ | restaurant restoran | bakery fırın | market pazar | shop dükkân | farm çiftlik/çiftliğ
field tarla | garden bahçe | forest orman | park park | lake göl | river nehir/nehr | beach plaj | harbor liman
island ada | station istasyon | airport havaalanı*havaalanları | hotel otel | museum müze | theater tiyatro
workshop atölye | factory fabrika | church kilise | street sokak/sokağ | castle kale | house ev | village köy
"""
# concept, root; "+" joins a light verb, "/" leads the stem before vowels; "dat" where the object stands in it
_VERBS = """
sleep uyu | work çalış | laugh gül | cry ağla | dance dans+et/ed | sing şarkı+söyle | wait bekle | swim yüz | arrive gel
jump zıpla | go git/gid | travel seyahat+et/ed | return dön | run koş | eat ye/yi | drink iç | cook pişir | bake fırınla
buy satın+al | sell sat | read oku | write yaz | see gör | find bul | lose kaybet/kaybed | seek ara
help yardım+et/ed dat | visit ziyaret+et/ed | greet selamla | call telefon+et/ed dat | invite davet+et/ed | love sev
know tanı | need ihtiyaç+duy dat | follow takip+et/ed | photograph fotoğrafla | paint boya | repair tamir+et/ed
clean temizle | wash yıka | open aç | close kapat | wear giy | lift kaldır | push it | drive sür | play çal | hear duy
build yap | cut kes | plant dik | feed besle | catch yakala | steal aşır | hide sakla | forget unut | heal iyileştir
give ver | show göster | send gönder | bring getir
"""
# verb concept, noun concept or tag of the object, root: what Turkish says in another word
_VARIANTS = """
know reading bil | know building bil | wear hat tak | wear scarf tak | paint picture yap | paint person resmet/resmed
paint animal resmet/resmed | paint plant resmet/resmed | paint building resmet/resmed
"""
BARE: frozenset[str] = frozenset(  # verbs whose indefinite objects stand without a case right before them
    """eat drink cook bake buy sell read write see find lose seek need hear build cut plant catch steal give show send
    bring wear play forget hide repair open feed paint""".split()
)
_ADJECTIVES = """
old eski | young genç | new yeni | big büyük | small küçük | long uzun | short kısa | heavy ağır | expensive pahalı
cheap ucuz | red kırmızı | blue mavi | green yeşil | white beyaz | black siyah | yellow sarı | beautiful güzel
ugly çirkin | happy mutlu | sad üzgün | tired yorgun | hungry aç | rich zengin | poor fakir | famous ünlü
friendly sevecen | strong güçlü | weak zayıf | clean_quality temiz | dirty kirli | hot sıcak | cold soğuk | fresh taze
sweet tatlı | empty boş | full dolu | dangerous tehlikeli
"""
OLD_IN_YEARS = "yaşlı"  # of persons and animals
_MANNERS = """
slowly yavaşça | quickly hızla | quietly sessizce | loudly gürültüyle | carefully dikkatle | happily neşeyle
patiently sabırla | secretly gizlice
"""
_DETERMINERS = """
two iki | three üç | four dört | five beş | six altı | seven yedi | eight sekiz | nine dokuz | ten on
a bir | this bu | these bu | many birçok | some birkaç | every her | no hiçbir
"""
THE = "o"  # the article has no word; dictionaries give the demonstrative it comes from, sentences never do
_TOWNS = {
    "berlin": "Berlin", "london": "Londra", "paris": "Paris", "madrid": "Madrid", "istanbul": "İstanbul",
    "vienna": "Viyana", "rome": "Roma", "moscow": "Moskova", "beijing": "Pekin", "new_delhi": "Yeni Delhi",
    "tokyo": "Tokyo", "cairo": "Kahire",
}  # fmt: skip
_UNITS = {
    "week": "hafta", "month": "ay", "year": "yıl", "summer": "yaz", "winter": "kış", "monday": "pazartesi",
    "friday": "cuma",
}  # fmt: skip
_TIMES = {
    "yesterday": "dün/=/ADV/wu", "today": "bugün/=/ADV/wu", "now": "şimdi/=/ADV/wu", "tomorrow": "yarın/=/ADV/wu",
    "every_day": "her/=/DET/w gün/=/NOUN/u", "every_morning": "her/=/DET/w sabah/=/NOUN/u",
} | {
    f"{which}_{unit}": f"{adjective}/=/ADJ/w {word}/=/NOUN/u"
    for which, adjective in (("last", "geçen"), ("next", "gelecek")) for unit, word in _UNITS.items()
}  # fmt: skip


def _cells(table: str) -> list[list[str]]:
    return [cell.split() for line in table.strip().splitlines() for cell in line.split(" | ")]


def _noun(cell: str) -> Noun:
    before, _, rest = cell.rpartition("+")
    rest, _, plural = rest.partition("*")
    front = rest.endswith("^")
    form, _, soft = rest.removesuffix("^").partition("/")
    return Noun(before, form, soft or form, plural or form + ending(form, "lAr", front=front), bool(plural), front)


def _verb(cell: str, case: str = "") -> Verb:
    before, _, rest = cell.rpartition("+")
    root, _, soft = rest.partition("/")
    return Verb(before, root, soft or root, case)


def _variants() -> dict[tuple[str, str], Verb]:
    found = {}
    for predicate, what, cell in _cells(_VARIANTS):
        for concept, noun in NOUNS.items():
            if what == concept or what in noun.tags:
                found[predicate, concept] = _verb(cell)
        for name in GIVEN if what == "person" else ():
            found[predicate, name] = _verb(cell)
    return found


def _plain(table: str) -> dict[str, str]:
    return dict(_cells(table))


def _citation(noun: Noun) -> str:
    return f"{noun.before} {noun.form}" if noun.before else noun.form


NOUN: dict[str, Noun] = {concept: _noun(cell) for concept, cell in _cells(_NOUNS)}
VERB: dict[str, Verb] = {concept: _verb(*rest) for concept, *rest in _cells(_VERBS)}
VARIANT: dict[tuple[str, str], Verb] = _variants()  # verb concept and head of the object -> verb
ADJECTIVE = _plain(_ADJECTIVES)
MANNER_WORD = _plain(_MANNERS)
DETERMINER = _plain(_DETERMINERS)
NAME: dict[str, str] = {name: name.title() for name in (*GIVEN, *SURNAMES)} | _TOWNS
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
_ALL: dict[str, str] = (
    {concept: _citation(noun) for concept, noun in NOUN.items()}
    | {concept: verb.infinitive for concept, verb in VERB.items()}
    | ADJECTIVE
    | MANNER_WORD
    | DETERMINER
    | {"the": THE}
    | NAME
    | {time: " ".join(row[0] for row in rows) for time, rows in TIME.items()}
)
WORDS: dict[str, str] = {concept: _ALL[concept] for concept in CONCEPTS}
