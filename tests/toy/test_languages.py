"""The contract of toy languages: all concepts, matching gold annotation, one sentence per scene."""

import unicodedata
from functools import cache
from itertools import pairwise

import pytest

from interlace.toy.concepts import CONCEPTS
from interlace.toy.languages import LANGUAGES, ToyLanguage, language
from interlace.toy.sampling import sample
from interlace.toy.scenes import PARTICIPANTS, answerable_roles

CODES = LANGUAGES.names()
UPOS = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT VERB".split())
CLAUSE_ROLES = {
    *"predicate tense negation manner copula quality category question stop time.which time.unit".split()
}
PHRASE_ROLES = ("head", "surname", "determiner", "quality", "relation")
ROLES = CLAUSE_ROLES | {
    f"{participant}.{role}" for participant in PARTICIPANTS for role in PHRASE_ROLES
}


@cache
def scenes(count, stream=0):
    return sample(count, seed=11, stream=stream)


@cache
def sentences(code, count):
    return [language(code).realize(scene) for scene in scenes(count)]


@pytest.mark.parametrize("code", CODES)
def test_has_a_word_for_every_concept(code):
    member = language(code)
    assert isinstance(member, ToyLanguage)
    assert set(member.words) == set(CONCEPTS)
    for concept, word in member.words.items():
        assert word, concept
        assert unicodedata.normalize("NFC", word) == word, concept
        assert "_" not in word, concept


@pytest.mark.parametrize("code", CODES)
def test_sentences_have_words_names_and_trees(code):
    for scene, sentence in zip(scenes(3000), sentences(code, 3000), strict=True):
        assert unicodedata.normalize("NFC", sentence.text) == sentence.text
        gaps = sentence.text
        for word in reversed(sentence.words):
            assert sentence.text[word.start : word.end] == word.form
            gaps = gaps[: word.start] + "|" + gaps[word.end :]
        assert gaps.replace(" |", "|").strip("|") == ""
        assert sentence.words[-1].roles == ("stop",)
        _check_tree(sentence)
        _check_names(scene, sentence)
        roles = {role for word in sentence.words for role in word.roles}
        assert _content_roles(scene) <= roles, (scene, sentence.text)


def _check_tree(sentence):
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


def _check_names(scene, sentence):
    expected = []
    for role, phrase in scene.phrases():
        if phrase.named:
            expected.append("LOC" if role in ("place", "goal") else "PER")
    begins = [word.name[2:] for word in sentence.words if word.name.startswith("B-")]
    assert sorted(begins) == sorted(expected)
    for before, word in pairwise(sentence.words):
        assert not word.name.startswith("I-") or before.name[2:] == word.name[2:], sentence


def _content_roles(scene):
    roles = {name for name in ("quality", "category", "manner") if getattr(scene, name)}
    if scene.predicate != "be":
        roles.add("predicate")
    if scene.negated:
        roles.add("negation")
    if scene.time:
        roles |= {"time.unit", "time.which"}
    for role, phrase in scene.phrases():
        roles.add(f"{role}.head")
        if phrase.quality:
            roles.add(f"{role}.quality")
        if phrase.surname:
            roles.add(f"{role}.surname")
        if phrase.determiner not in ("", "the", "a", "no"):
            roles.add(f"{role}.determiner")
    return roles


@pytest.mark.parametrize("code", CODES)
def test_different_scenes_are_different_sentences(code):
    by_text = {}
    for scene, sentence in zip(scenes(8000), sentences(code, 8000), strict=True):
        assert by_text.setdefault(sentence.text, scene) == scene, sentence.text


@pytest.mark.parametrize("code", CODES)
def test_questions_ask_for_parts_of_the_statement(code):
    member = language(code)
    for scene in scenes(1000):
        statement = member.realize(scene)
        asked = [(role, member.realize(scene, role)) for role in answerable_roles(scene)]
        assert len({question.text for _, question in asked}) == len(asked), asked
        for role, question in asked:
            _check_tree(question)
            assert question.words[-1].form == "?"
            said = {one for word in question.words for one in word.roles}
            assert "question" in said
            _check_answer(statement, said, role)


def _check_answer(statement, said, role):
    about, _, count = role.partition(".")
    answer = f"{about}.determiner" if count else about
    assert not {
        one for one in said if one == answer or (one.startswith(answer + ".") and not count)
    }
    start, end = statement.span(answer)
    assert statement.text[start:end] != ""
