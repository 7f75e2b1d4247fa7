"""Both readings of DICT-MLM, by hand and by their shares."""

from types import SimpleNamespace

import numpy as np
import pytest

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.dict_mlm import DictMlm
from interlace.objectives.mlm import Mlm

WORDS = "<pad> </s> <s> <mask> the old doctor read ##s alt Arzt liest Doktor der Haus ##arzt".split()
ID = {word: number for number, word in enumerate(WORDS)}
SPELLED = {**{word: [number] for word, number in ID.items()}, "Hausarzt": [ID["Haus"], ID["##arzt"]]}
VOCAB = SimpleNamespace(
    pad=0, begin=2, end=1, mask=3, size=len(WORDS),
    separator_ids=(1,), special_ids=np.arange(4), regular_ids=np.arange(4, 16),
    encode_words=lambda words: Ragged.of([SPELLED.get(word, [4, 5, 6]) for word in words]),
)  # fmt: skip
ENTRIES = [("old", "alt"), ("doctor", "Arzt"), ("doctor", "Doktor"), ("read", "liest")]
PLAIN = Traits("bert", 64)
MASK = {"rate": 1, "mask_share": 1, "random_share": 0}


def sentences(lines, language="en"):
    """`##` goes on with the word before."""
    words = [line.split() for line in lines]
    owners = [np.cumsum([not piece.startswith("##") for piece in row]) - 1 for row in words]
    return Sentences(Ragged.of([[ID[piece] for piece in row] for row in words]), Ragged.of(owners), language)


def batch_of(examples, entries=ENTRIES, key=0, more=(), traits=PLAIN, **settings):
    """more: entries of an English-French dictionary."""
    objective = DictMlm(max_length=32, **{"masking": MASK, "probability": 1.0} | settings)
    lexicons = {("en", "de"): Lexicon.of((source, target, 1.0) for source, target in entries)}
    if more:
        lexicons["en", "fr"] = Lexicon.of((source, target, 1.0) for source, target in more)
    prepared = objective.prepare(Resources(VOCAB, traits, lexicons=lexicons))
    return objective.batch(examples, prepared, 1, np.random.default_rng(key))


def shown(batch):
    return [" ".join(WORDS[i] for i in row if i) for row in batch.inputs["input_ids"]]


def labels(batch):
    return [WORDS[i] for i in batch.labels]


# ---- by hand ----


def test_label_mode_masks_the_word_and_predicts_a_translation():
    batch = batch_of(sentences(["the old der"]))
    assert shown(batch) == ["<s> <mask> <mask> <mask> </s>"]
    assert labels(batch) == ["the", "alt", "der"]
    assert batch.counts == {"dict_mlm": 3}


def test_input_mode_shows_a_translation_and_predicts_the_word_and_copies_what_it_does_not_know():
    batch = batch_of(sentences(["the old der"]), mode="input")
    assert shown(batch) == ["<s> the alt der </s>"]
    assert labels(batch) == ["the", "old", "der"]


def test_what_the_dictionary_does_not_take_is_left_to_the_masking():
    batch = batch_of(sentences(["the old der"]), mode="input", probability=0.0)
    assert shown(batch) == ["<s> <mask> <mask> <mask> </s>"]
    assert labels(batch) == ["the", "old", "der"]


def test_a_dictionary_is_read_in_both_directions_by_the_language_of_the_text():
    """`alt` is German here; in English text the same letters would be no word of the dictionary."""
    assert labels(batch_of(sentences(["der alt Arzt"], "de"))) == ["der", "old", "doctor"]
    assert labels(batch_of(sentences(["der alt Arzt"], "en"))) == ["der", "alt", "Arzt"]
    assert labels(batch_of(sentences(["the old"], "fr"))) == ["the", "old"]


def test_a_subword_inside_a_word_is_not_that_word():
    """`read` in `read ##s` is another word than `read`; the paper's code knows subwords only."""
    assert labels(batch_of(sentences(["read ##s", "read"]))) == ["read", "##s", "liest"]
    assert labels(batch_of(sentences(["read ##s", "read"]), whole_words=False)) == ["liest", "##s", "liest"]


def test_a_separator_of_a_stream_stands_apart_from_the_words_beside_it():
    stream = Sentences(Ragged.of([[ID["old"], 1, ID["read"]]]), Ragged.of([[0, -1, 1]]), "en")
    assert labels(batch_of(stream)) == ["alt", "liest"]


def test_translations_of_several_subwords_are_left_out_or_stand_by_their_first():
    entries = [("doctor", "Hausarzt"), ("old", "alt")]
    assert labels(batch_of(sentences(["old doctor"]), entries)) == ["alt", "doctor"]
    assert labels(batch_of(sentences(["old doctor"]), entries, multi_subword="first")) == ["alt", "Haus"]


# ---- languages ----

KNOWN = Traits("xlm", 64, {"en": 5, "de": 6, "fr": 7}, "langs")


def test_a_translation_that_is_shown_has_the_id_of_its_language():
    """As the paper's code has it; what is copied or masked keeps the text's."""
    lines = sentences(["the old doctor", "read"])
    batch = batch_of(lines, mode="input", traits=KNOWN, more=[("read", "liest"), ("the", "der")])
    assert shown(batch) in (["<s> der alt Arzt </s>", "<s> liest </s>"], ["<s> der alt Doktor </s>", "<s> liest </s>"])
    assert batch.inputs["langs"].tolist() == [[5, 7, 6, 6, 5], [5, 6, 5, 5, 5]]  # both know `liest`
    assert batch_of(sentences(["der alt"], "de"), mode="input", traits=KNOWN).inputs["langs"].tolist() == [[6, 6, 5, 6]]


def test_words_that_the_model_cannot_tell_the_language_of_are_not_shown():
    known = Traits("xlm", 64, {"en": 5}, "langs")
    with pytest.raises(SettingsError, match="no language embedding for 'de'"):
        batch_of(sentences(["the old"]), mode="input", traits=known)
    assert labels(batch_of(sentences(["the old"]), traits=known)) == ["the", "alt"]


# ---- shares ----


def test_all_translations_are_drawn_alike():
    found = labels(batch_of(sentences(["doctor " * 20] * 200)))
    assert set(found) == {"Arzt", "Doktor"}
    assert abs(found.count("Arzt") - 2000) < 160  # 5 standard deviations


@pytest.mark.parametrize("mode", ["label", "input"])
def test_half_of_the_chosen_are_the_dictionarys(mode):
    batch = batch_of(sentences(["old " * 20] * 200), mode=mode, probability=0.5)
    place = labels(batch) if mode == "label" else [WORDS[i] for i in batch.inputs["input_ids"][batch.at]]
    assert abs(place.count("alt") - 2000) < 160
    assert set(place) == {"alt", "old"} if mode == "label" else {"alt", "<mask>"}


def test_positions_are_those_of_mlm_and_the_draws_of_masking_do_not_move():
    examples = sentences(["the old doctor read ##s"] * 50)
    plain = Mlm(max_length=32)
    expected = plain.batch(examples, plain.prepare(Resources(VOCAB, Traits("bert", 64))), 1, np.random.default_rng(0))
    found = batch_of(examples, masking={})
    np.testing.assert_array_equal(found.at, expected.at)
    np.testing.assert_array_equal(found.inputs["input_ids"], expected.inputs["input_ids"])
    assert not np.array_equal(found.labels, expected.labels)


# ---- errors ----


def test_a_dictionary_without_a_word_of_one_subword_says_what_would_help():
    with pytest.raises(DataError, match=r"no entry .*a larger vocabulary"):
        batch_of(sentences(["old"]), [("doctor", "Hausarzt")])
    with pytest.raises(DataError, match="no word of its dictionary is a single token"):
        batch_of(sentences(["old"]), [("aa", "Hausarzt")], multi_subword="first")
