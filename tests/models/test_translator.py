"""Translation of lines: search with whole models, batch budgets, and pieces of long lines."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import SettingsError
from interlace.models.backbone import eval_mode
from interlace.models.search import (
    TokenConstraints,
    beam_search,
    encode_source,
    encoder_inputs,
)
from interlace.models.settings import SearchSettings
from interlace.models.translator import (
    Translator,
    join_pieces,
    split_line,
)
from little_translators import LINES, little_model, little_vocab

FAMILIES = ("bert", "roberta", "modernbert")


@pytest.fixture(scope="module")
def vocab():
    return little_vocab()


@pytest.fixture(scope="module")
def models(vocab):
    return {family: little_model(family, vocab) for family in FAMILIES}


def beams(model, vocab, ids, limits):
    with eval_mode(model):
        decoding = encode_source(model, encoder_inputs(model, ids, vocab, "en"), "de")
        first = torch.full((len(ids),), vocab.targets["de"])
        rules = TokenConstraints.of(vocab, model.vocab_size)
        return beam_search(decoding, first, limits, rules, 4)


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_a_log_probability_is_that_of_teacher_forcing(family, models, vocab):
    model = models[family]
    ids = vocab.encode(LINES, language="en").ids
    found = beams(model, vocab, ids, torch.full((len(ids),), 15))
    inputs = encoder_inputs(model, ids, vocab, "en")
    states = model.encode(inputs)
    for row, hypothesis in enumerate(found.best()):
        path = torch.tensor([[vocab.targets["de"], *hypothesis.tolist()]])
        mask = inputs["attention_mask"][row : row + 1].bool()
        hidden = model.decode(states[row : row + 1], mask, {"input_ids": path})
        following = torch.tensor([*hypothesis.tolist(), vocab.end])
        logprobs = model.logits(hidden[0]).log_softmax(1).gather(1, following[:, None])
        assert float(found.logprobs[row, 0]) == pytest.approx(float(logprobs.sum()), rel=1e-4)


def test_bans_special_and_unknown_subwords(models, vocab):
    model = models["bert"]
    rules = TokenConstraints.of(vocab, model.vocab_size + 3)
    banned = {*vocab.special_ids.tolist(), *range(vocab.size, vocab.size + 3)} - {vocab.end}
    assert set(rules.banned_ids) == banned
    assert vocab.unk in banned


def test_the_target_language_reaches_the_decoder(vocab):
    model = little_model("bert", vocab, languages=("en", "de"))
    ids = vocab.encode(LINES, language="en").ids
    inputs = encoder_inputs(model, ids, vocab, "de")
    name = model.traits.language_input
    assert set(inputs[name].flatten().tolist()) == {model.traits.languages["de"]}
    tokens = torch.full((len(ids),), vocab.targets["de"])
    scores = [encode_source(model, inputs, language).step(tokens) for language in ("en", "de")]
    assert not torch.allclose(*scores)
    kept = encode_source(model, inputs, "de").select(
        torch.tensor([3, 3, 1]), sources=torch.tensor([3, 3, 1])
    )
    assert kept.languages.tolist() == [model.decoder_languages["de"]] * 3
    with pytest.raises(SettingsError, match=r"no language embedding for 'fr'"):
        encoder_inputs(model, ids, vocab, "fr")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "search",
    [SearchSettings(beam=3, max_ratio=0.5, max_extra=3), SearchSettings(beam=1, max_ratio=0.5)],
)
def test_translations_do_not_depend_on_batches(search, family, models, vocab):
    model = models[family]
    lines = [*LINES, "", "  ", *LINES[::-1]]
    whole = Translator(model, vocab, "en", "de", search).lines(lines)
    assert len(set(texts(whole))) > 3
    for tokens in (1, 40, 200):
        found = Translator(model, vocab, "en", "de", search, tokens=tokens).lines(lines)
        assert texts(found) == texts(whole)


def texts(translations):
    return [one.text for one in translations]


@pytest.fixture(scope="module")
def model(vocab):
    return little_model("modernbert", vocab)


class Tight(Translator):
    """A device with room for so many subwords at once."""

    room = 60

    def _generate(self, ids, *rest):
        taken = len(ids) * (int(ids.lengths.max()) + 2)
        self.taken = [*getattr(self, "taken", []), taken]
        if taken > self.room:
            raise torch.OutOfMemoryError
        return super()._generate(ids, *rest)


def test_batches_shrink_when_memory_runs_out(model, vocab):
    lines = [*LINES, "", *LINES[::-1]]
    tight = Tight(model, vocab, "en", "de")
    assert texts(tight.lines(lines)) == texts(Translator(model, vocab, "en", "de").lines(lines))
    failed = [taken for taken in tight.taken if taken > tight.room]
    assert failed[0] == tight.taken[0]
    tight.lines(lines)  # what was learnt holds for the lines to come
    assert [taken for taken in tight.taken if taken > tight.room] == failed
    tight.room = 20
    with pytest.raises(SettingsError, match=r"a sentence of \d+ tokens with a beam of 5"):
        tight.lines(LINES)


def by_character(line):
    places = [place for place, character in enumerate(line) if not character.isspace()]
    return np.array(places, np.int64)


def cut(line, most):
    return split_line(line, by_character(line), most)


@pytest.mark.parametrize(
    ("line", "most", "expected"),
    [
        ("One two. Three four.", 12, ["One two.", "Three four."]),
        ("One two, three four.", 12, ["One two,", "three four."]),
        ("One two three four", 12, ["One two three", "four"]),
        # no sentence ends inside a number
        (
            "One 2.5 three four",
            10,
            ["One 2.5", "three four"],
        ),
        # a mark that comes too early is none
        (
            "One. two, three four",
            15,
            ["One. two,", "three four"],
        ),
        ("Sie sagt: „Nein.“ Er geht.", 16, ["Sie sagt: „Nein.“", "Er geht."]),
        ("今天很冷。我们回家吧。", 6, ["今天很冷。", "我们回家吧。"]),
        ("今天很冷,我们回家吧", 6, ["今天很冷,我", "们回家吧"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("आज ठंड है। हम घर जाते हैं।", 12, ["आज ठंड है।", "हम घर जाते हैं।"]),
    ],
)
def test_splits_lines_at_the_best_places(line, most, expected):
    assert cut(line, most) == expected


@given(st.text(alphabet='ab .,。"\t', max_size=60), st.integers(1, 9))
def test_pieces_keep_all_text_within_the_limit(line, most):
    found = cut(line, most)
    assert "".join("".join(found).split()) == "".join(line.split())
    assert all(piece and piece == piece.strip() for piece in found)
    assert max((len(by_character(piece)) for piece in found), default=0) <= most


def test_pieces_are_joined_as_the_language_writes():
    assert join_pieces(["a b", "c"], "de") == "a b c"
    assert join_pieces(["今天很冷。", "我们回家吧。"], "zh") == "今天很冷。我们回家吧。"
    four_bytes = np.repeat([0, 1, 2], 4)
    assert split_line("𝄞𝄞𝄞", four_bytes, 5) == ["𝄞", "𝄞", "𝄞"]


def test_splitting_takes_linear_time():
    """Looking at all that stands before each place would take the square of it: minutes."""
    begun = time.process_time()
    assert len(cut('"' * 120_000, 60)) == 2000
    assert time.process_time() - begun < 5


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("beam", [1, 4])
def test_a_gpu_translates_as_a_cpu(models, vocab, beam):
    search = SearchSettings(beam=beam)
    expected = Translator(models["bert"], vocab, "en", "de", search).lines(LINES)
    found = Translator(little_model("bert", vocab).cuda(), vocab, "en", "de", search).lines(
        LINES
    )
    assert texts(found) == texts(expected)
