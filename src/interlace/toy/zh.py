"""Chinese: unspaced, no inflection; classifiers, 了 and 会 for tense, 不 and 没有, places between 在 and 里.

A noun without a determiner is "the" one, 一 with a classifier is "a". Words of companions, places and manners stand
before the verb. The gold words are small: classifiers, particles and localizers are words of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlace.toy import Language
from interlace.toy._concepts import NOUNS, NUMERALS, TOWNS
from interlace.toy._tokens import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    TENSE,
    Roles,
    Sentence,
    Token,
    finish,
    join,
    part,
    proper,
    time_tokens,
)
from interlace.toy._zh import (
    ADJECTIVE,
    BESIDE,
    DETERMINER,
    LOCALIZERS,
    MANNER_WORD,
    NAME,
    NOUN,
    SPECIAL,
    TIME,
    VERB,
    WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.toy._scenes import Phrase, Scene
    from interlace.toy._zh import Adjective, Verb


class Chinese(Language):
    """[time ，] subject [time] not will with-companion at-place manner to-recipient verb 了 object; questions alike."""

    code: ClassVar[str] = "zh"
    name: ClassVar[str] = "Chinese"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realise(self, scene: Scene) -> Sentence:
        """The statement of a scene, with its gold."""
        return _unspaced(_clause(scene, ""), "。")

    def ask(self, scene: Scene, role: str) -> Sentence:
        """The question whose answer in the statement is `role`."""
        return _unspaced(_clause(scene, role), "\uff1f")


def _unspaced(tokens: list[Token], mark: str) -> Sentence:
    for token in tokens:
        token.space = False
    return finish(tokens, mark)


def _clause(scene: Scene, asked: str) -> list[Token]:
    """A statement, or with `asked` a question: the same order, the question word in the place of what is asked."""
    root, predicate = _state(scene, asked) if scene.predicate == "be" else _event(scene, asked)
    subject = _participant(scene.subject, "subject", "nsubj", root, asked)
    if scene.subject.determiner == "every" and asked != "subject":
        predicate.insert(0, _word("都", "ADV", (), "advmod", root))
    if asked == "time":
        when = _word("时候", "NOUN", QUESTION, "obl:tmod", root)
        return [*subject, _word("什么", "DET", QUESTION, "det", when), when, *predicate]
    time = _time(scene.time, root) if scene.time else []
    if scene.fronted and not asked:  # the comma keeps 上周, 五 (last week, five) from 上周五 (last Friday)
        return [*time, _word("\uff0c", "PUNCT", (), "punct", root), *subject, *predicate]
    return [*subject, *time, *predicate]


def _state(scene: Scene, asked: str) -> tuple[Token, list[Token]]:
    """The root and predicate of "be": 很 and a quality, 是 and a category or a quality with 的, 在 and a place."""
    if scene.quality:
        root, tokens = _quality(scene)
    elif scene.category:
        root = _word(NOUN[scene.category].form, "NOUN", CATEGORY, "root")
        tokens = [_word("是", "AUX", COPULA, "cop", root), root]
    elif asked == "place" or scene.place is None:
        root = _word("在", "VERB", COPULA, "root")
        tokens = [root, _word("哪里", "PRON", QUESTION, "obj", root)]
    else:
        root = _word("在", "VERB", (*COPULA, *part("place").relation), "root")
        tokens = [root, *_phrase(scene.place, "place", "obj", root, after=_inside(scene.place))]
    return root, [*_helpers(scene, root, "不"), *tokens]


def _quality(scene: Scene) -> tuple[Token, list[Token]]:
    adjective = _adjective(scene.quality, scene.subject)
    root = _word(adjective.form, "ADJ", QUALITY, "root")
    if adjective.copula or scene.subject.determiner == "no":  # 没有 .. 新 would compare: not as new as
        return root, [_word("是", "AUX", COPULA, "cop", root), root, _word("的", "PART", (), "mark:rel", root)]
    return root, [root] if scene.negated else [_word("很", "ADV", (), "advmod", root), root]


def _event(scene: Scene, asked: str) -> tuple[Token, list[Token]]:
    verb = _lexeme(scene, asked)
    parted = scene.negated and scene.tense == "present" and verb.result  # 看不见 does the denying
    passed = _aspect(scene, verb) == "过"
    split = bool(verb.tail) and (parted or (passed and not verb.result))
    root = _word(verb.head if split else verb.head + verb.tail, "VERB", PREDICATE, "root")
    helpers = [] if parted else _helpers(scene, root, "不" if verb.state or scene.tense != "past" else "没有")
    inside = [_word("不", "ADV", NEGATION, "advmod", root)] if parted else _particle(scene, verb, root)
    tail = [_word(verb.tail, "VERB" if verb.result else "NOUN", PREDICATE, "compound", root)] if split else []
    return root, [*helpers, *_before(scene, root, asked), root, *inside, *tail, *_behind(scene, root, asked)]


def _lexeme(scene: Scene, asked: str) -> Verb:
    thing = scene.object
    if thing and scene.predicate == "visit" and thing.person:
        return VERB["visit_person"]
    if thing is None or asked == "object":
        return VERB[scene.predicate]
    return VERB[SPECIAL.get((scene.predicate, thing.head), scene.predicate)]


def _aspect(scene: Scene, verb: Verb) -> str:
    """了 for what happened; nobody 没有 .. has ever done it: 过. States and denials have neither."""
    if scene.tense != "past" or verb.state or scene.negated:
        return ""
    return "过" if scene.denied else "了"


def _particle(scene: Scene, verb: Verb, root: Token) -> list[Token]:
    form = _aspect(scene, verb)
    return [_word(form, "AUX", TENSE, "aux", root)] if form else []


def _helpers(scene: Scene, root: Token, denial: str) -> list[Token]:
    """不 or 没有, and 会 for the future."""
    tokens = []
    if scene.negated:
        roles = (*NEGATION, *TENSE) if denial == "没有" else NEGATION
        tokens.append(_word(denial, "ADV", roles, "advmod", root))
    if scene.tense == "future":
        tokens.append(_word("会", "AUX", TENSE, "aux", root))
    return tokens


def _before(scene: Scene, root: Token, asked: str) -> list[Token]:
    """What stands between negation and verb."""
    tokens: list[Token] = []
    if scene.companion:
        tokens += _participant(scene.companion, "companion", "obl", root, asked, "和")
        roles = QUESTION if asked == "companion" else part("companion").relation
        tokens.append(_word("一起", "ADV", roles, "advmod", root))
    if scene.place and scene.predicate != "arrive":
        tokens += _participant(scene.place, "place", "obl", root, asked, "在", _inside(scene.place))
    if scene.manner:
        manner = _word(MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root)
        tokens += [manner, _word("地", "PART", MANNER, "mark:adv", manner)]
    if scene.recipient and scene.predicate != "give":
        tokens += _participant(scene.recipient, "recipient", "obl", root, asked, "给")
    if scene.goal and scene.predicate == "travel":
        tokens += _participant(scene.goal, "goal", "obl", root, asked, "到", BESIDE.get(scene.goal.head, ""))
    if scene.object and scene.predicate == "call":
        tokens += _participant(_denied(scene.object, scene), "object", "obl", root, asked, "给")
    return tokens


def _behind(scene: Scene, root: Token, asked: str) -> list[Token]:
    """What stands behind the verb: the object, the recipient of 给, where one goes."""
    tokens: list[Token] = []
    if scene.recipient and scene.predicate == "give":
        tokens += _participant(scene.recipient, "recipient", "iobj", root, asked)
    if scene.object and scene.predicate != "call":
        tokens += _participant(_denied(scene.object, scene), "object", "obj", root, asked)
    if scene.goal and scene.predicate != "travel":
        tokens += _participant(scene.goal, "goal", "obj", root, asked, after=BESIDE.get(scene.goal.head, ""))
    if scene.place and scene.predicate == "arrive":
        tokens += _participant(scene.place, "place", "obj", root, asked)
    return tokens


def _denied(thing: Phrase, scene: Scene) -> Phrase:
    """Not .. any: 任何 for "a" under a negation; the determiner "any" is Chinese only."""
    return thing._replace(determiner="any") if scene.negated and thing.determiner == "a" else thing


def _inside(place: Phrase) -> str:
    return "" if place.head in TOWNS else LOCALIZERS.get(place.head, "里")


def _participant(
    phrase: Phrase, role: str, deprel: str, head: Token, asked: str, before: str = "", after: str = ""
) -> list[Token]:
    """A phrase between its adposition and its localizer, or the question word that stands for it."""
    if asked != role:
        return _phrase(phrase, role, deprel, head, before, after, counted=asked == role + ".count")
    form = "谁" if phrase.person else "哪里" if role in ("place", "goal") else "什么"
    word = _word(form, "PRON", QUESTION, deprel, head)
    return [_word(before, "ADP", QUESTION, "case", word), word] if before else [word]


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token, before: str = "", after: str = "", *, counted: bool = False
) -> list[Token]:
    roles = part(role)
    if phrase.named:
        tokens = _name(phrase, role, deprel, head)
        noun = tokens[0]
    else:
        noun = _word(NOUN[phrase.head].form, "NOUN", roles.head, deprel, head)
        tokens = [noun]
        if phrase.quality:
            tokens = [*_attribute(phrase, roles.quality, noun), noun]
        if counted:
            tokens = [*_measured("几", "NUM", QUESTION, noun, phrase), *tokens]
        elif phrase.determiner and phrase.determiner != "the":
            tokens = [*_determiner(phrase, roles.determiner, noun), *tokens]
    if before:
        tokens.insert(0, _word(before, "ADP", roles.relation, "case", noun))
    if after:
        tokens.append(_word(after, "ADP", roles.relation, "case:loc", noun))
    return tokens


def _name(phrase: Phrase, role: str, deprel: str, head: Token) -> list[Token]:
    """A name; 安娜·韦伯 is three words, the dot inside the name."""
    roles = part(role)
    kind = "LOC" if phrase.head in TOWNS else "PER"
    tokens = proper(NAME[phrase.head], roles.head, kind, deprel)
    tokens[0].head = head
    if not phrase.surname:
        return tokens
    dot = _word("·", "PUNCT", (), "punct", tokens[0])
    dot.name = f"I-{kind}"
    given, surname = join(tokens, proper(NAME[phrase.surname], roles.surname, kind, "flat"))
    return [given, dot, surname]


def _determiner(phrase: Phrase, roles: Roles, noun: Token) -> list[Token]:
    word = DETERMINER[phrase.determiner]
    if phrase.determiner in ("these", "many", "some", "no", "any"):
        return [_word(word, "DET", roles, "det", noun)]
    number = phrase.determiner in NUMERALS or phrase.determiner == "a"
    return _measured(word, "NUM" if number else "DET", roles, noun, phrase)


def _measured(word: str, upos: str, roles: Roles, noun: Token, phrase: Phrase) -> list[Token]:
    """A numeral or demonstrative with the noun's classifier, which hangs on it."""
    first = _word(word, upos, roles, "nummod" if upos == "NUM" else "det", noun)
    return [first, _word(NOUN[phrase.head].classifier, "NOUN", roles, "clf", first)]


def _attribute(phrase: Phrase, roles: Roles, noun: Token) -> list[Token]:
    """A quality before its noun. 的 also keeps 小 off 小提琴: not two of the same in a row."""
    adjective = _adjective(phrase.quality, phrase)
    token = _word(adjective.form, "ADJ", roles, "amod", noun)
    if adjective.linked or noun.form.startswith(adjective.form):
        return [token, _word("的", "PART", (), "mark:rel", token)]
    return [token]


def _adjective(quality: str, of: Phrase) -> Adjective:
    """What lives is 老, not 旧, when it is old."""
    living = of.person or bool(NOUNS[of.head].tags & {"person", "animal"})
    return ADJECTIVE["aged" if quality == "old" and living else quality]


def _time(time: str, root: Token) -> list[Token]:
    tokens = time_tokens(TIME[time], root)
    for token in tokens:
        if token.deprel == "dep":  # 去年 of 去年夏天, 个 of 上个月
            token.deprel = "clf" if token.form == "个" else "nmod:tmod"
            token.head = tokens[0] if token.form == "个" else token.head
    return tokens


def _word(form: str, upos: str, roles: Roles, deprel: str, head: Token | None = None) -> Token:
    return Token(form, form, upos, roles, deprel, head)
