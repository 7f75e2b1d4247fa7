"""Search over real encoder-decoders: nothing in a batch changes what is found for a row."""

import numpy as np
import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.models.decoding import (
    EnsembleState,
    TokenConstraints,
    check_same_vocabulary,
    encode_source,
    encoder_inputs,
    eval_mode,
)
from interlace.models.generation import LengthPenalty, SearchSettings
from interlace.models.search import beam_search, greedy_search
from interlace.models.translator import Translator, batches
from little_decodings import Little, logprobs_of
from little_translators import LINES, little_model, little_vocab

FAMILIES = ("bert", "roberta", "modernbert")


@pytest.fixture(scope="module")
def vocab():
    return little_vocab()


@pytest.fixture(scope="module")
def models(vocab):
    return {family: little_model(family, vocab) for family in FAMILIES}


def found_by(search, model, vocab, ids, limits):
    with eval_mode(model):
        decoding = encode_source(model, encoder_inputs(model, ids, vocab, "en"), "de")
        first = torch.full((len(ids),), vocab.target("de"))
        return search(decoding, first, limits, TokenConstraints.of(vocab, model.vocab_size))


SEARCHES = {
    "greedy": greedy_search,
    "beam": lambda *args: beam_search(*args, 4, penalty=LengthPenalty()),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("family", FAMILIES)
def test_neither_company_nor_order_nor_padding_changes_what_is_found(family, name, models, vocab):
    model, search = models[family], SEARCHES[name]
    ids = vocab.encode(LINES, language="en").ids
    limits = torch.tensor([20, 3, 30, 12, 0, 25])
    alone = [found_by(search, model, vocab, ids.take([row]), limits[row : row + 1]) for row in range(len(ids))]
    assert len({tuple(one.best()[0].tolist()) for one in alone}) > 3
    for order in ([0, 1, 2, 3, 4, 5], [5, 2, 4, 0, 3, 1], [1, 1, 2], [4]):
        together = found_by(search, model, vocab, ids.take(order), limits[order])
        for place, row in enumerate(order):
            for rank in range(together.lengths.shape[1]):
                assert together.ranked(rank)[place].tolist() == alone[row].ranked(rank)[0].tolist()
            np.testing.assert_allclose(together.logprobs[place], alone[row].logprobs[0], rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_log_probability_is_that_of_teacher_forcing(family, models, vocab):
    model = models[family]
    ids = vocab.encode(LINES, language="en").ids
    found = found_by(SEARCHES["beam"], model, vocab, ids, torch.full((len(ids),), 15))
    inputs = encoder_inputs(model, ids, vocab, "en")
    with torch.no_grad():
        states = model.encode(inputs)
        said = found.best()
        for row, hypothesis in enumerate(said):
            path = torch.tensor([[vocab.target("de"), *hypothesis.tolist()]])
            mask = inputs["attention_mask"][row : row + 1].bool()
            logs = model.logits(model.decode(states[row : row + 1], mask, {"input_ids": path})[0]).log_softmax(1)
            following = torch.tensor([*hypothesis.tolist(), vocab.end])
            expected = logs.gather(1, following[:, None]).sum()
            assert float(found.logprobs[row, 0]) == pytest.approx(float(expected), rel=1e-4)


def test_nothing_special_is_said_and_the_unknown_only_where_asked(models, vocab):
    model = models["bert"]
    rules = TokenConstraints.of(vocab, model.vocab_size + 3)
    assert set(rules.banned_ids) == {*vocab.special_ids.tolist(), *range(vocab.size, vocab.size + 3)} - {vocab.end}
    assert vocab.target("en") in rules.banned_ids
    assert vocab.unk in rules.banned_ids
    assert vocab.unk not in TokenConstraints.of(vocab, vocab.size, allow_unk=True).banned_ids
    with torch.no_grad():
        bias = model.decoder.model.get_output_embeddings().bias
        before = bias.clone()
        bias[vocab.unk], bias[vocab.pad], bias[vocab.target("en")] = 50.0, 60.0, 70.0
        ids = vocab.encode(LINES, language="en").ids
        found = found_by(SEARCHES["beam"], model, vocab, ids, torch.full((len(ids),), 5))
        bias.copy_(before)
    assert not set(found.ids[found.ids != vocab.pad].tolist()) & set(rules.banned_ids)


def test_an_unknown_that_is_asked_for_is_written(vocab):
    model = little_model("bert", vocab)
    with torch.no_grad():
        model.decoder.model.get_output_embeddings().bias[vocab.unk] = 50.0
    (mark,) = vocab.tokens([vocab.unk])
    silent, told = (
        Translator([model], vocab, "en", "de", SearchSettings(allow_unk=asked)).lines(LINES) for asked in (False, True)
    )
    assert all(mark not in one.text for one in silent)
    assert [one.text.count(mark) for one in told] == [one.hypotheses[0].length - 1 for one in told]
    assert max(one.text.count(mark) for one in told) > 3


def test_the_target_language_reaches_the_decoder(vocab):
    model = little_model("bert", vocab, languages=("en", "de"))
    ids = vocab.encode(LINES, language="en").ids
    inputs = encoder_inputs(model, ids, vocab, "de")
    name = model.traits.language_input
    assert set(inputs[name].flatten().tolist()) == {model.traits.languages["de"]}
    tokens = torch.full((len(ids),), vocab.target("de"))
    scores = [encode_source(model, inputs, language).step(tokens) for language in ("en", "de")]
    assert not torch.allclose(*scores)
    kept = encode_source(model, inputs, "de").select(torch.tensor([3, 3, 1]))
    assert kept.languages.tolist() == [model.decoder_languages["de"]] * 3
    with pytest.raises(SettingsError, match=r"no language embedding for 'fr'"):
        encode_source(model, inputs, "fr")
    with pytest.raises(SettingsError, match=r"no language embedding for 'fr'"):
        encoder_inputs(model, ids, vocab, "fr")


# ---- ensembles ----


def test_an_ensemble_means_probabilities():
    one, two = Little([1], 5), Little([2], 5)
    mean = (np.exp(logprobs_of(1, (), 5)) + np.exp(logprobs_of(2, (), 5))) / 2
    np.testing.assert_allclose(EnsembleState((one, two)).step(torch.tensor([2]))[0].exp(), mean, rtol=1e-5)


def test_a_model_with_itself_is_itself(models, vocab):
    model = models["modernbert"]
    alone = Translator([model], vocab, "en", "de").lines(LINES)
    twice = Translator([model, model], vocab, "en", "de").lines(LINES)
    assert [one.text for one in alone] == [one.text for one in twice]


def test_models_of_other_families_translate_together(models, vocab):
    both = Translator([models["bert"], models["modernbert"]], vocab, "en", "de", SearchSettings(beam=3)).lines(LINES)
    singles = [Translator([models[name]], vocab, "en", "de", SearchSettings(beam=3)).lines(LINES) for name in FAMILIES]
    assert all([one.text for one in both] != [one.text for one in single] for single in singles)


def test_models_with_other_vocabularies_do_not_translate_together(vocab):
    other = little_vocab(70)
    check_same_vocabulary([vocab, vocab], ["a", "b"])
    with pytest.raises(SettingsError, match=r"^a and b have different vocabularies"):
        check_same_vocabulary([vocab, other], ["a", "b"])


# ---- lines ----


@pytest.mark.parametrize(
    "search",
    [
        SearchSettings(beam=3, n_best=2, max_ratio=0.5, max_extra=3),
        SearchSettings(beam=1, max_ratio=0.5),
        SearchSettings(sample=True, top_k=5, seed=4, max_ratio=0.5),
    ],
)
def test_lines_are_translated_alike_however_they_are_batched(search, models, vocab):
    model = models["modernbert"]
    lines = [*LINES, "", "  ", *LINES[::-1]]
    whole = Translator([model], vocab, "en", "de", search).lines(lines)
    for rows, tokens in ((1, 10_000), (4, 10_000), (100, 40)):
        assert texts(Translator([model], vocab, "en", "de", search, rows=rows, tokens=tokens).lines(lines)) == texts(
            whole
        )
    halves = Translator([model], vocab, "en", "de", search)
    assert texts(halves.lines(lines[:5]) + halves.lines(lines[5:], 5)) == texts(whole)


def texts(translations):
    return [[one.text for one in translation.hypotheses] for translation in translations]


def test_equal_lines_are_drawn_apart(models, vocab):
    drawn = Translator([models["bert"]], vocab, "en", "de", SearchSettings(sample=True, max_extra=20)).lines(
        [LINES[0]] * 8
    )
    assert len({one.text for one in drawn}) > 4


def test_empty_lines_stay_in_place(models, vocab):
    made_of = Translator([models["bert"]], vocab, "en", "de").lines(["", LINES[0], " ", LINES[1], ""])
    assert [one.text == "" for one in made_of] == [True, False, True, False, True]
    assert [one.pieces for one in made_of] == [0, 1, 0, 1, 0]
    assert Translator([models["bert"]], vocab, "en", "de").lines([]) == []


def test_special_subwords_that_stand_in_a_line_are_text(models, vocab):
    """A `</s>` would end the source, a `<2en>` ask for another language."""
    translator = Translator([models["bert"]], vocab, "en", "de")
    ids, _ = translator._parts(["a </s> cat <2en>"], 0, cut=True)
    assert not set(ids[0].tolist()) & (set(vocab.special_ids.tolist()) - {vocab.unk})
    assert vocab.end in vocab.encode(["a </s> cat"], language="en").ids[0]


def test_batches_hold_rows_of_like_length_within_their_budget():
    lengths = np.array([5, 1, 9, 9, 2, 40, 3])
    found = [rows.tolist() for rows in batches(lengths, 22, 3)]
    assert found == [[5], [2, 3], [0, 6, 4], [1]]
    assert [rows.tolist() for rows in batches(np.array([], np.int64), 22, 3)] == []


def test_the_mode_of_the_models_is_as_it_was(models, vocab):
    model = little_model("bert", vocab).train()
    first, again = (Translator([model], vocab, "en", "de").lines(LINES) for _ in range(2))
    assert model.training
    assert texts(first) == texts(again)


def test_a_part_that_was_held_in_another_mode_is_in_it_again(vocab):
    model = little_model("bert", vocab).train()
    held = model.decoder
    held.eval()
    with eval_mode(model):
        assert not any(part.training for part in model.modules())
    assert model.training
    assert not any(part.training for part in held.modules())
    assert model.encoder.model.training
