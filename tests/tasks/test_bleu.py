"""Scores of translations, beside sacreBLEU and by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from interlace.core.errors import DataError, MissingDependencyError
from interlace.scores.examples import bleu as bleu_of
from interlace.tasks.common.translation import bleu, chrf, copied, tokenized_bleu

LINES = st.lists(st.sampled_from(["the", "cat", "sat", "on", "Mat", ".", ",", "3.5"]), max_size=9).map(" ".join)


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6), st.booleans())
@settings(max_examples=60)
def test_bleu_is_sacrebleus_and_its_sentences_add_up(pairs, lower_case):
    outputs, references = map(list, zip(*pairs, strict=True))
    theirs = BLEU(lowercase=lower_case)
    found = bleu(outputs, references, "de", lower_case=lower_case)
    assert found.value == pytest.approx(theirs.corpus_score(outputs, [references]).score, abs=1e-9)
    assert found.signature == str(theirs.get_signature())
    half = bleu(outputs[:1], references[:1], "de", lower_case=lower_case)
    assert half.value == pytest.approx(float(bleu_of(found.sentences[:1].sum(axis=0))))


def test_a_perfect_translation_has_100_and_nothing_has_0():
    lines = ["A dog runs through the snow.", "Two men, one boat."]
    assert bleu(lines, lines).value == pytest.approx(100)
    assert chrf(lines, lines).value == pytest.approx(100)
    assert bleu(["", ""], lines).value == 0
    assert chrf(["", ""], lines).sentences.tolist() == [0, 0]


def test_chinese_is_cut_by_characters_and_the_signature_says_so():
    found = bleu(["我喜欢狗和猫"], ["我喜欢狗和鸟"], "zh_Hans")
    assert "tok:zh" in found.signature
    assert found.sentences[0, :6].tolist() == [6, 6, 5, 4, 3, 2]
    assert bleu(["我喜欢狗和猫"], ["我喜欢狗和鸟"], "en").value == 0  # one word


def test_what_cannot_be_cut_names_the_package(monkeypatch):
    import sacrebleu.metrics.bleu

    def missing(**_settings):
        raise RuntimeError("extra dependencies")

    monkeypatch.setattr(sacrebleu.metrics.bleu, "BLEU", missing)
    with pytest.raises(MissingDependencyError, match=re.escape("pip install 'sacrebleu[ja]'")):
        bleu(["犬"], ["犬"], "ja")


def test_tokenised_bleu_counts_words_and_smooths_nothing():
    outputs, references = ["The cat, sat on the mat."], ["The cat, lay on the mat."]
    found = tokenized_bleu(outputs, references, "en", word_tokenizer="unicode")
    words = [["The cat , sat on the mat ."], [["The cat , lay on the mat ."]]]
    assert found.value == pytest.approx(BLEU(tokenize="none", smooth_method="none").corpus_score(*words).score)
    assert "tok:unicode" in found.signature
    assert "smooth:none" in found.signature
    assert tokenized_bleu(["a b"], ["a c"], "en", word_tokenizer="whitespace").value == 0
    lower = tokenized_bleu(
        ["THE CAT SAT DOWN"], ["the cat sat down"], "en", word_tokenizer="whitespace", lower_case=True
    )
    assert lower.value == pytest.approx(100)
    assert "case:lc" in lower.signature


def test_what_is_copied_by_hand():
    lines, words = copied(["ein Hund", "A dog ", "", "x x y"], ["a dog", "A dog", "", "x y z"])
    assert lines.tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(words, [0, 1, 0, 2 / 3])


@pytest.mark.parametrize("text", ["我喜欢狗和猫", "犬がすきです", "ผมชอบหมา"])
def test_scripts_without_blanks_are_compared_by_character(text):
    lines, words = copied([text[:-1] + "x", text + text], [text, text])
    assert lines.tolist() == [0, 0]
    np.testing.assert_allclose(words, [1 - 1 / len(text), 0.5])
    mixed = copied(["GPT模型", "GPU模型"], ["GPT模型", "GPT模型"])[1]
    np.testing.assert_allclose(mixed, [1, 2 / 3])  # Latin letters remain a word


def test_sides_must_pair():
    for score in (bleu, chrf, copied):
        with pytest.raises(DataError, match="found 1 and 2"):
            score(["one"], ["one", "two"])
    with pytest.raises(DataError, match="found 0 and 0"):
        bleu([], [])
