"""Every published encoder-decoder keeps one contract, seen from plain transformers: same tokens, logits, translations.

The checkpoints are tiny and random; their tokenizers are of the real classes, with their language codes.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
)

from interlace.core.errors import CheckpointError, DataError, SettingsError
from interlace.data import Pairs
from interlace.data.layout import sentence_layout, separate_sides
from interlace.data.trimming import trim_vocab
from interlace.data.vocab import Vocab
from interlace.models.build import build_model, load
from interlace.models.search import encoder_inputs
from interlace.models.seq2seq import Seq2Seq
from interlace.models.settings import DecoderSettings, ModelSettings, SearchSettings
from interlace.models.translator import Translator
from interlace.objectives import OBJECTIVES, Resources
from interlace.objectives.translation import Translation
from little_encoder_decoders import CODES, KINDS, save

ENGLISH = ["the old doctor reads three letters", "a cat", "two red books on her table"]
GERMAN = ["der alte Arzt liest drei Briefe", "Öl ist da", "drei Briefe"]
CLASSES = {"mbart": MBartTokenizer, "mbart-50": MBart50Tokenizer, "nllb": NllbTokenizer}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {kind: save(kind, tmp_path_factory.mktemp("start") / kind) for kind in KINDS}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def vocab(kind, folders):
    return Vocab.load(folders[kind]).with_target_languages(["en", "de"])


@pytest.fixture
def model(kind, folders, vocab):
    settings = ModelSettings(start=str(folders[kind]))
    return build_model(settings, vocab, ("en", "de"), seq2seq=True).eval()


def plain(folder):
    return AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=False).eval()


def inputs(vocab, lines=ENGLISH):
    rows = sentence_layout(vocab.encode(lines, language="en"), vocab, 64)
    return {
        "input_ids": torch.from_numpy(rows.ids),
        "attention_mask": torch.from_numpy(rows.real).long(),
    }


def written(vocab):
    """What a decoder reads, as long for each of the lines of `inputs`."""
    rng = np.random.default_rng(0)
    text = torch.from_numpy(rng.choice(vocab.regular_ids, size=(len(ENGLISH), 4)))
    return torch.cat([torch.tensor([vocab.target("de")] * len(ENGLISH)), text], dim=1)


def logits(model, vocab):
    read = inputs(vocab)
    with torch.no_grad():
        states = model.encode(read)
        return model.logits(
            model.decode(states, read["attention_mask"], {"input_ids": written(vocab)})
        )


def test_logits_match_transformers(kind, folders, model, vocab):
    with torch.no_grad():
        theirs = plain(folders[kind])(**inputs(vocab), decoder_input_ids=written(vocab)).logits
    assert theirs.std() > 0.1
    torch.testing.assert_close(logits(model, vocab), theirs, atol=1e-4, rtol=1e-4)


def test_its_encoder_is_a_backbone_of_tasks(kind, folders, model, vocab):
    read = inputs(vocab)
    with torch.no_grad():
        theirs = plain(folders[kind]).get_encoder()(**read).last_hidden_state
        layers = model.encoder.hidden_states(read)
    assert len(layers) == 3
    real = read["attention_mask"].bool()
    torch.testing.assert_close(layers[-1][real], theirs[real], atol=1e-5, rtol=1e-4)


def test_steps_with_reordered_sequences_match_whole_rows(model, vocab):
    """Each source twice, exchanged after every step; then the middle source leaves."""
    read, write, whole = inputs(vocab), written(vocab), logits(model, vocab)
    cache = model.start(model.encode(read), read["attention_mask"].bool())
    sources = torch.arange(len(ENGLISH))
    cache = cache.select(sources.repeat_interleave(2), 2)
    pairs = sources.repeat_interleave(2)
    for column in range(write.shape[1] - 1):
        step = model.step(cache, write[pairs, column])
        torch.testing.assert_close(step, whole[pairs, column], atol=1e-4, rtol=1e-4)
        before = cache
        cache = cache.select(torch.tensor([1, 0, 3, 2, 5, 4]), 2)
    remaining = torch.tensor([0, 1, 4, 5])
    cache = before.select(remaining, 2, torch.tensor([0, 2]))
    step = model.step(cache, write[pairs[remaining], -1])
    torch.testing.assert_close(step, whole[pairs[remaining], -1], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ["mbart", "mbart-50", "nllb", "t5"])
def test_reads_what_transformers_reads(kind, folders, vocab):
    theirs = AutoTokenizer.from_pretrained(folders[kind], trust_remote_code=False)
    if kind in CLASSES:
        english, german = CODES[kind]
        theirs = CLASSES[kind].from_pretrained(folders[kind], src_lang=english, tgt_lang=german)
        assert vocab.target("de")[-1] == theirs.convert_tokens_to_ids(german)
    read = theirs(ENGLISH, padding=True, return_tensors="pt")["input_ids"]
    assert torch.equal(inputs(vocab)["input_ids"], read)


def test_each_side_of_pairs_is_read_in_its_own_language(vocab):
    pairs = Pairs(vocab.encode(ENGLISH, language="en"), vocab.encode(GERMAN, language="de"))
    both = separate_sides(pairs, vocab, 64)
    for side, ids in zip((pairs.source, pairs.target), np.split(both.ids, 2), strict=True):
        alone = sentence_layout(side, vocab, 64)
        width = alone.ids.shape[1]
        assert np.array_equal(ids[:, :width], alone.ids)
        assert (ids[:, width:] == vocab.pad).all()


def test_what_is_saved_is_the_checkpoint(kind, folders, model, vocab, tmp_path):
    folder = model.save_pretrained(tmp_path / "model", vocab)
    before, after = plain(folders[kind]).state_dict(), plain(folder).state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    again = Vocab.load(folder)
    assert (again.frame("en"), again.target("de")) == (vocab.frame("en"), vocab.target("de"))
    reopened = load(folder, again).eval()
    assert isinstance(reopened, Seq2Seq)
    assert torch.equal(logits(reopened, again), logits(model, vocab))
    with torch.no_grad():
        theirs = plain(folder)(**inputs(vocab), decoder_input_ids=written(vocab)).logits
    torch.testing.assert_close(logits(model, vocab), theirs, atol=1e-4, rtol=1e-4)
    if kind in CLASSES:
        theirs = CLASSES[kind].from_pretrained(folder, src_lang=CODES[kind][0])
        read = theirs(ENGLISH, padding=True, return_tensors="pt")["input_ids"]
        assert torch.equal(inputs(vocab)["input_ids"], read)


def overfit(model, vocab, steps):
    """Learn to translate the lines, without dropout."""
    objective = Translation(directions="forward", label_smoothing=0.0)
    prepared = objective.prepare(Resources(vocab, model.traits))
    pairs = Pairs(vocab.encode(ENGLISH, language="en"), vocab.encode(GERMAN, language="de"))
    batch = objective.batch(pairs, prepared, 0, np.random.default_rng(0)).to(model.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        loss = objective.loss(model, objective.modules(model), batch)["translation"].total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


FAMILIES = ["mbart", "nllb", "t5"]


@pytest.mark.parametrize("kind", FAMILIES)
def test_learns_to_translate_and_searches_as_generate_does(model, vocab, tmp_path):
    overfit(model, vocab, steps=25)
    must_search_alike(model, vocab)
    overfit(model, vocab, steps=30)
    translations = Translator(model, vocab, "en", "de").lines(ENGLISH)
    assert [translation.text for translation in translations] == GERMAN
    start, *forced = vocab.target("de")
    ids = plain(model.save_pretrained(tmp_path / "model", vocab)).generate(
        **encoder_inputs(model, vocab.encode(ENGLISH, language="en").ids, vocab, "en"),
        decoder_start_token_id=start,
        forced_bos_token_id=forced[0] if forced else None,
        num_beams=4,
        max_new_tokens=40,
    )
    assert [vocab.decode(row).strip() for row in ids] == GERMAN


def must_search_alike(model, vocab):
    """Translations of a half-trained model are uncertain and of many lengths; compared are those that end in time."""
    start, *forced = vocab.target("de")
    words = " ".join(ENGLISH).split()
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(words, size=size)) for size in rng.integers(2, 8, size=16)]
    ids = vocab.encode(lines, language="en").ids
    for beam in (1, 4):
        translator = Translator(model, vocab, "en", "de", SearchSettings(beam=beam))
        hypotheses = translator._generate(ids, np.full(len(lines), 25)).best()
        theirs = model.model.generate(
            **encoder_inputs(model, ids, vocab, "en"),
            decoder_start_token_id=start,
            forced_bos_token_id=forced[0] if forced else None,
            suppress_tokens=sorted({*translator.constraints.banned_ids} - {*forced}),
            num_beams=beam,
            early_stopping="never",  # otherwise a heuristic may end it before the best is found
            max_new_tokens=25 + len(forced),
        )
        texts = theirs[:, 1 + len(forced) :].tolist()
        ended = [row for row, text in enumerate(texts) if vocab.end in text]
        assert len(ended) > 5
        for row in ended:
            end = texts[row].index(vocab.end)
            assert hypotheses[row].tolist() == texts[row][:end]


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("name", ["back_translation", "denoise", "mass", "translation"])
def test_learns_every_objective_that_writes(name, model, vocab):
    objective = OBJECTIVES.build({"name": name})
    prepared = objective.prepare(Resources(vocab, model.traits, languages=("en", "de")))
    examples = vocab.encode(ENGLISH, language="en")
    if objective.reads is Pairs:
        examples = Pairs(examples, vocab.encode(GERMAN, language="de"))
    batch = objective.batch(examples, prepared, 1, np.random.default_rng(0)).to(model.device)
    terms = objective.loss(model.train(), objective.modules(model), batch)
    total = sum(term.weight * term.total for term in terms.values())
    total.backward()
    assert total.isfinite()
    gradients = {name: part.grad for name, part in model.model.named_parameters()}
    assert all(gradient.abs().sum() > 0 for gradient in gradients.values())


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_trimmed_vocabulary_gives_the_same_logits(kind, folders, model, vocab, tmp_path):
    trimmed = trim_vocab(vocab, ENGLISH + GERMAN)
    kept = trimmed.origin.kept
    assert len(kept) < vocab.size
    smaller = load(folders[kind], trimmed).eval()
    new_ids = np.full(vocab.size, -1)
    new_ids[kept] = np.arange(len(kept))
    write = torch.from_numpy(vocab.encode(GERMAN[:1], language="de").ids.padded(0))
    with torch.no_grad():
        ours = smaller.logits(decoded(smaller, trimmed, torch.from_numpy(new_ids)[write]))
        theirs = model.logits(decoded(model, vocab, write))[:, :, torch.from_numpy(kept)]
    torch.testing.assert_close(ours, theirs)
    folder = smaller.save_pretrained(tmp_path / "model", trimmed)
    generation = plain(folder).generation_config
    assert generation.decoder_start_token_id == trimmed.target("de")[0]
    assert generation.eos_token_id == trimmed.end


def decoded(model, vocab, write):
    read = inputs(vocab, ENGLISH[:1])
    return model.decode(model.encode(read), None, {"input_ids": write})


def test_a_language_without_a_token_is_an_error_with_the_nearest(kind, folders):
    vocab = Vocab.load(folders[kind])
    if not vocab.targets:
        assert vocab.target("xx") == (vocab.pad,)
        return
    nearest = "deu" if kind == "nllb" else "de"
    with pytest.raises(DataError, match=f"'deux'.*did you mean '{nearest}'"):
        vocab.with_target_languages(["en", "deux"])


@pytest.mark.parametrize("kind", ["nllb"])
def test_starts_that_do_not_fit_are_errors(kind, folders, model, vocab, tmp_path):
    start = str(folders[kind])

    def build(vocab=vocab, **settings):
        build_model(ModelSettings(start=start, **settings), vocab, ("en",), seq2seq=True)

    with pytest.raises(SettingsError, match="continued as a whole"):
        build(take="embeddings")
    with pytest.raises(SettingsError, match="continued as a whole"):
        build(decoder=DecoderSettings(layers=1))
    with pytest.raises(SettingsError, match="freeze"):
        build(freeze=["embeddings"])
    with pytest.raises(SettingsError, match="language embeddings"):
        build(languages="embeddings")
    plain_vocab = Vocab.learn({"en": ENGLISH * 4}, size=vocab.size - 3, kind="bpe")
    with pytest.raises(CheckpointError, match="own tokenizer"):
        build(plain_vocab)
    AutoModel.from_pretrained(start, trust_remote_code=False).encoder.save_pretrained(
        tmp_path / "encoder"
    )
    with pytest.raises(CheckpointError, match=r"lacks .* weights of an encoder-decoder"):
        load(tmp_path / "encoder")


@pytest.mark.parametrize(
    ("kind", "key", "size", "message"),
    [
        ("nllb", "encoder_layers", 10**7, "less than or equal to 1000"),
        ("t5", "num_decoder_layers", 10**7, "less than or equal to 1000"),
        ("nllb", "max_position_embeddings", 1 << 24, "its files have"),
        ("t5", "d_ff", 1 << 20, "its files have"),
    ],
)
def test_sizes_that_the_files_cannot_hold_are_errors(
    kind, key, size, message, folders, tmp_path
):
    shutil.copytree(folders[kind], tmp_path / "copy")
    path = tmp_path / "copy" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: size}))
    with pytest.raises(CheckpointError, match=message):
        load(tmp_path / "copy")
