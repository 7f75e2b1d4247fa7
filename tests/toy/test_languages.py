"""What every language of the toy corpus owes: all concepts, gold that fits, one scene a sentence and back.

The room is listed, so a new language is held to all of it without a word here.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import cache
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

import pytest

from interlace.core.errors import SettingsError
from interlace.toy import (
    LANGUAGES,
    Scene,
    ToyLanguage,
    ToySentence,
    answerable_roles,
    language,
    links,
    problems,
    sample,
)
from interlace.toy.concepts import ADJECTIVES, CONCEPTS, DETERMINERS, GIVEN, NOUNS, SURNAMES, TIMES, TOWNS, VERBS
from interlace.toy.scenes import PARTICIPANTS, TENSES, Phrase
from interlace.toy.sentences import CLAUSE, part

if TYPE_CHECKING:
    from collections.abc import Iterator

CODES = LANGUAGES.names()
UPOS = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT VERB".split())
ROLES = CLAUSE | {role for participant in PARTICIPANTS for roles in part(participant) for role in roles}
CONTENT = {"NOUN", "VERB", "ADJ", "PROPN", "NUM"}


@cache
def scenes(count: int, stream: int = 0) -> list[Scene]:
    return sample(count, seed=11, stream=stream)


@cache
def sentences(code: str, count: int) -> list[ToySentence]:
    return [language(code).realize(scene) for scene in scenes(count)]


@pytest.mark.parametrize("code", CODES)
def test_has_a_word_for_every_concept(code: str) -> None:
    member = language(code)
    assert isinstance(member, ToyLanguage)
    assert member.code == code
    assert set(member.words) == set(CONCEPTS)
    for concept, word in member.words.items():
        assert word, concept
        assert unicodedata.normalize("NFC", word) == word, concept
        assert "_" not in word, concept


@pytest.mark.parametrize("code", CODES)
def test_words_of_one_kind_differ(code: str) -> None:
    words = language(code).words
    for kind in (NOUNS, VERBS, ADJECTIVES, TIMES, (*GIVEN, *SURNAMES), TOWNS):
        by_word = defaultdict(list)
        for concept in kind:
            by_word[words[concept]].append(concept)
        assert not {word: concepts for word, concepts in by_word.items() if len(concepts) > 1}


@pytest.mark.parametrize("code", CODES)
def test_words_are_spans_of_the_text(code: str) -> None:
    for sentence in sentences(code, 3000):
        assert unicodedata.normalize("NFC", sentence.text) == sentence.text
        assert "  " not in sentence.text
        at = 0
        for word in sentence.words:
            assert sentence.text[at : word.start].strip() == ""
            assert sentence.text[word.start : word.end] == word.form
            assert word.form.strip() == word.form != ""
            at = word.end
        assert at == len(sentence.text)
        last = sentence.words[-1]
        assert last.upos == "PUNCT"
        assert last.roles == ("stop",)


@pytest.mark.parametrize("code", CODES)
def test_trees_are_trees(code: str) -> None:
    for sentence in sentences(code, 3000):
        _check_tree(sentence)


def _check_tree(sentence: ToySentence) -> None:
    heads = [0] + [word.head for word in sentence.words]
    assert heads[1:].count(0) == 1, sentence
    for word, start in zip(sentence.words, range(1, len(heads)), strict=True):
        assert word.upos in UPOS
        assert set(word.roles) <= ROLES, word
        assert (word.deprel == "root") == (word.head == 0), word
        assert word.deprel, word
        at, steps = start, 0
        while at:
            at, steps = heads[at], steps + 1
            assert steps < len(heads), sentence


@pytest.mark.parametrize("code", CODES)
def test_names_are_tagged(code: str) -> None:
    for scene, sentence in zip(scenes(3000), sentences(code, 3000), strict=True):
        expected = sorted(
            ("LOC" if role in ("place", "goal") else "PER") for role, phrase in scene.phrases() if phrase.named
        )
        assert sorted(word.name[2:] for word in sentence.words if word.name.startswith("B-")) == expected
        before = "O"
        for word in sentence.words:
            if word.name.startswith("I-"):
                assert before[2:] == word.name[2:], sentence
            if word.upos == "PROPN" and any(role.endswith((".head", ".surname")) for role in word.roles):
                assert word.name != "O", sentence
            before = word.name


@pytest.mark.parametrize("code", CODES)
def test_every_content_part_of_the_scene_is_realized(code: str) -> None:
    for scene, sentence in zip(scenes(3000), sentences(code, 3000), strict=True):
        roles = {role for word in sentence.words for role in word.roles}
        assert _content_roles(scene) <= roles, (scene, sentence.text)


def _content_roles(scene: Scene) -> set[str]:
    roles = {f"{role}.head" for role, _ in scene.phrases()}
    roles |= {f"{role}.quality" for role, phrase in scene.phrases() if phrase.quality}
    roles |= {f"{role}.surname" for role, phrase in scene.phrases() if phrase.surname}
    for role, phrase in scene.phrases():
        if phrase.determiner not in ("", "the", "a", "no"):
            roles.add(f"{role}.determiner")
    roles |= {"predicate"} if scene.predicate != "be" else set()
    roles |= {name for name in ("quality", "category", "manner") if getattr(scene, name)}
    roles |= {"negation"} if scene.negated else set()
    return roles | ({"time.unit", "time.which"} if scene.time else set())


@pytest.mark.parametrize("code", CODES)
def test_different_scenes_are_different_sentences(code: str) -> None:
    by_text: dict[str, Scene] = {}
    for scene, sentence in zip(scenes(20_000), sentences(code, 20_000), strict=True):
        assert by_text.setdefault(sentence.text, scene) == scene, sentence.text


@pytest.mark.parametrize("code", CODES)
def test_every_edit_changes_the_sentence(code: str) -> None:
    member = language(code)
    for scene in scenes(400):
        text = member.realize(scene).text
        for variant in _variants(scene):
            assert member.realize(variant).text != text, (scene, variant)


@cache
def _variants(scene: Scene) -> list[Scene]:
    """All good scenes that differ in one feature (time and tense count as one where they hang together)."""
    found = [scene._replace(negated=not scene.negated), scene._replace(fronted=not scene.fronted)]
    found += [scene._replace(tense=tense) for tense in TENSES]
    found += [scene._replace(time=time, tense=tense) for time, tense in TIMES.items()]
    found += [scene._replace(time="", fronted=False)]
    found += (
        [scene._replace(manner=manner) for manner in ("", *VERBS[scene.predicate].manners)]
        if (scene.predicate != "be")
        else [scene._replace(quality=quality) for quality in ADJECTIVES if scene.quality]
    )
    for role, phrase in scene.phrases():
        for changed in _phrase_variants(phrase):
            found.append(scene._replace(**{role: changed}))
        found.append(scene._replace(**{role: None}) if role != "subject" else scene)
    return [variant for variant in found if variant != scene and not problems(variant)]


def _phrase_variants(phrase: Phrase) -> list[Phrase]:
    found = [phrase._replace(determiner=determiner) for determiner in DETERMINERS if phrase.determiner]
    found += [phrase._replace(quality=quality) for quality in ("", *ADJECTIVES) if not phrase.named]
    found += [phrase._replace(surname=surname) for surname in ("", *SURNAMES) if phrase.head in GIVEN]
    return found + [phrase._replace(head=head) for head in (*GIVEN, *TOWNS, *list(NOUNS)[::7])]


TOLD = sample(60, "test", seed=11)


class Recogniser:
    """Finds scenes by their text: words that occur suggest parts, parts make scenes, and those said alike are it.

    The words of each part are learned from the gold of very many scenes, which do hold the tested ones, so that every
    inflected form is known; of the tested sentence it sees the text and how that divides into words.
    """

    def __init__(self, code: str) -> None:
        self.member = language(code)
        self.forms: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for scene in [*sample(20_000, seed=11), *TOLD]:
            for word in self.member.realize(scene).words:
                readings = self.forms[word.form.casefold()]
                for role in word.roles or ("",):
                    readings |= _values(scene, role) or {("other", role)}

    def scenes(self, sentence: ToySentence) -> set[Scene]:
        text, forms = sentence.text, {word.form.casefold() for word in sentence.words}
        readings = [self.forms[form] for form in forms if self.forms[form]]
        parts: dict[str, set[str]] = defaultdict(set)
        for kind, value in set().union(*readings):
            parts[kind].add(value)
        return {scene for scene in self._candidates(parts, readings) if self.member.realize(scene).text == text}

    def _candidates(self, parts: dict[str, set[str]], readings: list[set[tuple[str, str]]]) -> Iterator[Scene]:
        for bare in self._clauses(parts, readings):
            for tense, time, manner in product(TENSES, ("", *parts["time"]), ("", *parts["manner"])):
                if (time and TIMES[time] != tense) or not _explains(_said(bare, time, manner), readings, ANY):
                    continue
                for negated, fronted in product((False, True), (False, True) if time else (False,)):
                    whole = bare._replace(tense=tense, time=time, manner=manner, negated=negated, fronted=fronted)
                    if not problems(whole):
                        yield whole

    def _clauses(self, parts: dict[str, set[str]], readings: list[set[tuple[str, str]]]) -> Iterator[Scene]:
        """Clauses without time, manner and negation, every noun or name of the sentence in one role."""
        heads = sorted(parts["head"])
        for predicate in [*parts["predicate"], "be"]:
            for frame in _frames(predicate):
                for chosen in permutations(heads, len(frame)):
                    said = {("head", head) for head in chosen} | {("predicate", predicate)}
                    if predicate == "be" or _explains(said, readings, {"head", "predicate"}):
                        yield from self._filled(predicate, dict(zip(frame, chosen, strict=True)), parts)

    def _filled(self, predicate: str, heads: dict[str, str], parts: dict[str, set[str]]) -> list[Scene]:
        if not _plausible(predicate, heads):
            return []
        options = [[(role, phrase) for phrase in _phrases(role, head, parts)] for role, head in heads.items()]
        found = []
        for chosen in product(*options):
            bare = Scene(predicate, **dict(chosen))
            if predicate == "be" and bare.place is None:
                found += [bare._replace(quality=quality) for quality in parts["quality"]]
                found += [bare._replace(category=category) for category in parts["head"] if category in NOUNS]
            else:
                found.append(bare)
        return found


ANY = {"head", "predicate", "determiner", "quality", "surname", "time", "manner"}


def _explains(said: set[tuple[str, str]], readings: list[set[tuple[str, str]]], kinds: set[str]) -> bool:
    """Whether every word that can only be of these kinds says something of the scene."""
    return all(reading & said for reading in readings if all(kind in kinds for kind, _ in reading))


def _said(scene: Scene, time: str, manner: str) -> set[tuple[str, str]]:
    said = {("time", time), ("manner", manner), ("predicate", scene.predicate), ("quality", scene.quality)}
    said.add(("head", scene.category))
    for _, phrase in scene.phrases():
        said |= set(zip(("head", "determiner", "quality", "surname"), phrase, strict=True))
    return said


def _plausible(predicate: str, heads: dict[str, str]) -> bool:
    if predicate == "be":
        return True
    verb = VERBS[predicate]
    tags = {role: {"person"} if head in GIVEN else NOUNS[head].tags if head in NOUNS else {"place"}
            for role, head in heads.items()}  # fmt: skip
    return bool(verb.subject & tags["subject"]) and ("object" not in tags or bool(verb.objects & tags["object"]))


def _frames(predicate: str) -> list[tuple[str, ...]]:
    if predicate == "be":
        return [("subject",), ("subject", "place")]
    verb = VERBS[predicate]
    base = ("subject", *(("object",) if verb.objects else ()),
            *(role for role in ("recipient", "goal") if role in verb.flags))  # fmt: skip
    extra = [role for role in ("companion", "place") if role == "place" or role in verb.flags]
    return [(*base, *more) for count in range(len(extra) + 1) for more in combinations(extra, count)]


def _phrases(role: str, head: str, parts: dict[str, set[str]]) -> list[Phrase]:
    if head not in NOUNS:
        return [Phrase(head, surname=surname) for surname in ("", *parts["surname"])]
    determiners = {""} if NOUNS[head].mass else {"the", "a"} | parts["determiner"]
    if role in ("place", "goal"):
        determiners = {"the"}
    qualities = [quality for quality in parts["quality"] if ADJECTIVES[quality].tags & NOUNS[head].tags]
    return [Phrase(head, determiner, quality) for determiner, quality in product(determiners, ("", *qualities))]


def _values(scene: Scene, role: str) -> set[tuple[str, str]]:
    about, _, field = role.partition(".")
    if not role:  # a word that says nothing of its own, such as the article of "el viernes pasado"
        return set()
    if about == "time":
        return {("time", scene.time)} if scene.time else set()
    if field in ("head", "determiner", "quality", "surname"):
        value = getattr(getattr(scene, about), field)
        return {(field, value)} if value else set()
    if role in ("predicate", "manner"):
        return {(role, getattr(scene, role))}
    return (
        {("quality", scene.quality)}
        if role == "quality"
        else {("head", scene.category)}
        if role == "category"
        else set()
    )


@pytest.mark.parametrize("code", CODES)
def test_the_scene_can_be_recovered_from_the_sentence(code: str) -> None:
    recogniser = Recogniser(code)
    for scene in TOLD:
        assert recogniser.scenes(recogniser.member.realize(scene)) == {scene}


@pytest.mark.parametrize("code", CODES)
def test_questions_ask_for_parts_of_the_statement(code: str) -> None:
    member = language(code)
    for scene in scenes(1000):
        statement = member.realize(scene)
        asked = [(role, member.question(scene, role)) for role in answerable_roles(scene)]
        assert len({question.text for _, question in asked}) == len(asked), asked
        for role, question in asked:
            _check_tree(question)
            assert question.words[-1].form in ("?", "\uff1f")
            said = {one for word in question.words for one in word.roles}
            assert "question" in said
            _check_answer(statement, said, role)


def _check_answer(statement: ToySentence, said: set[str], role: str) -> None:
    about, _, count = role.partition(".")
    answer = f"{about}.determiner" if count else about
    assert not {one for one in said if one == answer or (one.startswith(answer + ".") and not count)}
    start, end = statement.span(answer)
    for word in statement.words:
        if start <= word.start < end and word.roles:
            assert any(one.partition(".")[0] == about for one in word.roles), (statement.text, role)
    assert statement.text[start:end] != ""


@pytest.mark.parametrize("code", CODES)
def test_content_words_are_linked_with_english(code: str) -> None:
    content = linked = 0
    for english, other in zip(sentences("en", 2000), sentences(code, 2000), strict=True):
        gold = links(english, other)
        assert links(other, english) == sorted((j, i) for i, j in gold)
        sources = {i for i, _ in gold}
        words = [i for i, word in enumerate(english.words) if word.upos in CONTENT]
        content += len(words)
        linked += sum(i in sources for i in words)
    assert linked / content > 0.97


def test_an_unknown_language_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="no toy language 'dee'; did you mean 'de'"):
        language("dee")
