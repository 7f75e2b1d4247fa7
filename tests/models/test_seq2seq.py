import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.models.build import from_shape
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import Shape

FAMILIES = ["bert", "roberta", "modernbert"]
LANGUAGES = ("en", "de")


def tiny(family, **more):
    settings = {
        "family": family,
        "layers": 4,
        "width": 16,
        "heads": 2,
        "max_length": 48,
        "local_attention": 8,
    }
    # wide weights, so that differences show
    return Shape(**{**settings, "init_std": 0.3, **more})


def pair(family, vocab, seed=3, **more):
    encoder = from_shape(
        tiny(family, **more), vocab, () if family == "modernbert" else LANGUAGES, seed
    )
    return join(encoder, fresh_decoder(encoder.model.config, seed)).eval()


def source(model):
    """States and mask of three sources, two of them padded."""
    ids = torch.randint(3, 40, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[1] * 9, [1] * 5 + [0] * 4, [1] * 2 + [0] * 7])
    with torch.no_grad():
        return model.encode({"input_ids": ids, "attention_mask": mask}), mask


def target(model, rows=3, length=20):
    ids = torch.randint(3, 40, (rows, length), generator=torch.Generator().manual_seed(2))
    if model.decoder_language_input is None:
        return {"input_ids": ids}
    languages = torch.tensor(list(model.decoder_languages.values()))[torch.arange(rows) % 2]
    return {
        "input_ids": ids,
        model.decoder_language_input: languages[:, None].expand(rows, length),
    }


def at(inputs, place):
    return tuple(tensor[:, place] for tensor in inputs.values())


@torch.no_grad()
def scores(model, states, mask, inputs):
    hidden = model.decode(states, mask, inputs)
    return model.logits(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1)


@pytest.mark.parametrize("family", FAMILIES)
def test_stepwise_decoding_equals_whole_rows(family, vocab):
    model = pair(family, vocab)
    states, mask = source(model)
    inputs = target(model)
    expected = scores(model, states, mask, inputs)
    memory = model.start(states, mask)
    # beyond the window of local layers, and beyond the room that is made ready at once
    for place in range(20):
        torch.testing.assert_close(
            model.step(memory, *at(inputs, place)), expected[:, place], atol=1e-4, rtol=1e-4
        )
    assert memory.length == 20


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_row_may_begin_at_any_place(family, vocab):
    """As the end of a longer row whose first part nothing sees: the table of positions moved up, row by row."""
    model = pair(family, vocab)
    states, mask = source(model)
    inputs = target(model)
    places = torch.tensor([0, 5, 28])
    with torch.no_grad():
        found = model.decode(states, mask, inputs, places)
        plain = model.decode(states, mask, inputs)
        table = model.decoder.model.base_model.embeddings.position_embeddings.weight
        before = table.clone()
        for row, place in enumerate(places.tolist()):
            table.copy_(before.roll(-place, 0))
            expected = model.decode(states, mask, inputs)[row]
            torch.testing.assert_close(found[row], expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(found[1], plain[1], atol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("rows", "per_source", "sources"),
    [
        ([0, 0, 1, 1, 2, 2], 2, None),
        ([0, 0, 2, 2], 2, [0, 2]),
        ([0, 2, 2, 2, 1], 1, [0, 2, 2, 2, 1]),
    ],
)
def test_rows_may_be_kept_moved_and_repeated(family, rows, per_source, sources, vocab):
    model = pair(family, vocab)
    states, mask = source(model)
    first, then = target(model, 3, 4), target(model, len(rows), 3)
    memory = model.start(states, mask)
    for place in range(4):
        model.step(memory, *at(first, place))
    index = torch.tensor(rows)
    chosen = memory.select(index, per_source, sources and torch.tensor(sources))
    assert len(chosen.written[0]) == len(rows)
    whole = {name: torch.cat([first[name][index], then[name]], dim=1) for name in first}
    expected = scores(model, states[index], mask[index], whole)
    for place in range(3):
        torch.testing.assert_close(
            model.step(chosen, *at(then, place)), expected[:, 4 + place], atol=1e-4, rtol=1e-4
        )
    assert memory.length == 4  # untouched


def test_rejects_targets_beyond_the_maximum_length(vocab):
    model = pair("roberta", vocab, max_length=8)
    states, mask = torch.zeros(1, 3, 16), None
    with pytest.raises(SettingsError, match=r"target of 9 tokens.* at most 8"):
        model.decode(states, mask, {"input_ids": torch.full((1, 9), 5)})
    model = pair("modernbert", vocab)
    ids = torch.ones(3, 4).long()
    with pytest.raises(SettingsError, match="modernbert decoder cannot read 'token_type_ids'"):
        model.decode(*source(model), {"input_ids": ids, "token_type_ids": ids})


def test_sides_of_other_widths_or_vocabularies_are_refused(vocab):
    encoder = from_shape(tiny("bert"), vocab)
    wide = from_shape(tiny("bert", width=32), vocab)
    with pytest.raises(SettingsError, match="width 16, the decoder 32"):
        join(encoder, fresh_decoder(wide.model.config, 0))
    vocab.size = 41
    with pytest.raises(SettingsError, match="40 tokens, the decoder 41"):
        join(encoder, fresh_decoder(from_shape(tiny("bert"), vocab).model.config, 0))


def test_an_encoder_of_another_family_may_be_read(vocab):
    encoder = from_shape(tiny("modernbert"), vocab)
    model = join(encoder, fresh_decoder(from_shape(tiny("bert"), vocab).model.config, 0))
    states = model.encode({"input_ids": torch.full((3, 9), 5)})
    scored = model.logits(model.decode(states, None, target(model)).flatten(0, 1))
    assert scored.shape == (60, 40)
    scored.sum().backward()
    assert all(weight.grad is not None for weight in model.parameters() if weight.requires_grad)
