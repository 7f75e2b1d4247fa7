"""DICT-MLM: both modes by hand and by their shares."""

import numpy as np
import pytest

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.dict_mlm import DictMlm
from little_words import LittleWords

TOKENS = LittleWords(
    "the old doctor read ##s alt Arzt liest Doktor der Haus ##arzt",
    spelled={"Hausarzt": "Haus ##arzt"},
)
ENTRIES = [("old", "alt"), ("doctor", "Arzt"), ("doctor", "Doktor"), ("read", "liest")]
PLAIN = Traits("bert", 64)
MASK = {"rate": 1, "mask_share": 1, "random_share": 0}


def batch_of(*lines, language="en", entries=ENTRIES, more=(), traits=PLAIN, **settings):
    """more: entries of an English-French dictionary."""
    objective = DictMlm(max_length=32, **{"masking": MASK, "probability": 1.0} | settings)
    lexicons = {("en", "de"): Lexicon.of((*entry, 1.0) for entry in entries)}
    if more:
        lexicons["en", "fr"] = Lexicon.of((*entry, 1.0) for entry in more)
    prepared = objective.prepare(Resources(TOKENS.vocab, traits, lexicons=lexicons))
    return objective.batch(
        TOKENS.sentences(lines, language), prepared, 1, np.random.default_rng(0)
    )


def shown(batch):
    return TOKENS.texts(batch.inputs["input_ids"])


def labels(*lines, **settings):
    return TOKENS.names(batch_of(*lines, **settings).labels)


@pytest.mark.parametrize(
    ("settings", "read", "predicted"),
    [
        ({"mode": "label"}, "<s> <mask> <mask> <mask> </s>", "the alt der"),
        # words without a translation stay visible
        (
            {"mode": "input"},
            "<s> the alt der </s>",
            "the old der",
        ),
        ({"mode": "input", "probability": 0}, "<s> <mask> <mask> <mask> </s>", "the old der"),
    ],
)
def test_modes(settings, read, predicted):
    batch = batch_of("the old der", **settings)
    assert shown(batch) == [read]
    assert TOKENS.names(batch.labels) == predicted.split()
    assert batch.counts == {"dict_mlm": 3}


def test_looks_up_whole_words_or_any_token_by_the_language_of_the_text():
    assert labels("der alt Arzt", language="de") == ["der", "old", "doctor"]
    assert labels("the old", language="fr") == ["the", "old"]
    assert labels("read ##s", "read") == ["read", "##s", "liest"]
    assert labels("read ##s", "read", whole_words=False) == ["liest", "##s", "liest"]
    assert labels("old </s> read") == ["alt", "liest"]  # the words of a stream
    entries = [("doctor", "Hausarzt"), ("old", "alt")]
    assert labels("old doctor", entries=entries) == ["alt", "doctor"]


def test_shown_translations_have_their_language_id_and_need_one():
    known = {"mode": "input", "traits": Traits("xlm", 64, {"en": 5, "de": 6, "fr": 7}, "langs")}
    batch = batch_of(
        "the old doctor", "read", **known, more=[("read", "liest"), ("the", "der")]
    )
    assert shown(batch) in (
        ["<s> der alt Arzt </s>", "<s> liest </s>"],
        ["<s> der alt Doktor </s>", "<s> liest </s>"],
    )
    # both dictionaries have `liest`
    assert batch.inputs["langs"].tolist() == [
        [5, 7, 6, 6, 5],
        [5, 6, 5, 5, 5],
    ]
    known = Traits("xlm", 64, {"en": 5}, "langs")
    with pytest.raises(SettingsError, match="no language embedding for 'de'"):
        batch_of("the old", mode="input", traits=known)


def test_draws_all_translations_equally_often():
    found = labels(*["doctor " * 20] * 200)
    assert set(found) == {"Arzt", "Doktor"}
    assert abs(found.count("Arzt") - 2000) < 160  # 5 standard deviations


@pytest.mark.parametrize("mode", ["label", "input"])
def test_probability_is_the_share_of_translated_predictions(mode):
    batch = batch_of(*["old " * 20] * 200, mode=mode, probability=0.5)
    found = TOKENS.names(
        batch.labels if mode == "label" else batch.inputs["input_ids"][batch.at]
    )
    assert abs(found.count("alt") - 2000) < 160
    assert set(found) == {"alt", "old"} if mode == "label" else {"alt", "<mask>"}


def test_rejects_dictionary_without_single_token_words():
    with pytest.raises(DataError, match=r"no entry .*a larger vocabulary"):
        batch_of("old", entries=[("doctor", "Hausarzt")])
