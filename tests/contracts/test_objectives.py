"""What every objective of the room must keep, found by listing the room."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from itertools import repeat

import numpy as np
import pytest
import torch

from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrases import phrase_pairs
from interlace.core.errors import SettingsError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.data import Pairs
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape, load
from interlace.models.families import MODEL_TYPES, Traits
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import Shape
from interlace.objectives import OBJECTIVES, Resources
from interlace.text import Text
from interlace.text.columns import TextColumns
from little_checkpoints import FURTHER_KINDS, save
from little_rows import random_ids, sentences_of

LANGUAGES = ("en", "xx")
# each with its language ids
FAMILIES = {
    "bert": LANGUAGES,
    "roberta": LANGUAGES,
    "modernbert": (),
    "xlm": LANGUAGES,
}
CHECKPOINTS = {"xlm"}  # families that are never made afresh
DEVICE = torch.device("cpu")


@pytest.fixture(scope="module")
def learnt():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), size=4)) for _ in range(200)]
    return Vocab.learn(
        {"en": [" ".join(rng.choice(words, size=8)) for _ in range(300)]}, size=400
    ).with_target_languages(LANGUAGES)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """By family, a folder and the vocabulary in it."""
    folders = {
        family: save(family, tmp_path_factory.mktemp("start") / family)
        for family in CHECKPOINTS
    }
    return {family: (folder, Vocab.load(folder)) for family, folder in folders.items()}


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture
def vocab(family, learnt, checkpoints):
    return checkpoints[family][1] if family in CHECKPOINTS else learnt


@pytest.fixture
def backbone(family, objective, vocab, checkpoints):
    """Nothing is dropped: fresh ones drop none, and a checkpoint comes in evaluation mode."""
    if family in CHECKPOINTS:
        if objective.architecture == "seq2seq":
            pytest.skip(f"{family} models cannot write")
        return load(checkpoints[family][0], vocab, FAMILIES[family])
    shape = Shape(
        family=family,
        layers=1,
        width=16,
        heads=2,
        max_length=48,
        dropout=0.0,
        attention_dropout=0.0,
    )
    model = from_shape(shape, vocab, FAMILIES[family], seed=0)
    return (
        join(model, fresh_decoder(model.model.config, 0))
        if objective.architecture == "seq2seq"
        else model
    )


def sentences(vocab, language, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 14, size=12)
    return sentences_of(random_ids(rng, vocab, lengths), language, word=2)


def examples_for(objective, vocab):
    if objective.reads is Pairs:
        return linked(Pairs(sentences(vocab, "en", 1), sentences(vocab, "xx", 2)), vocab)
    return sentences(vocab, "en", 1)


def linked(pairs, vocab):
    """Every word with the one at its place; the first word of the source with the second too. And phrases and text."""
    words = [
        np.array([row.max() + 1 for row in side.words]) for side in (pairs.source, pairs.target)
    ]
    rows = [[(i, i) for i in range(count)] for count in np.minimum(*words)]
    links = Ragged.of([[row[0], (0, 1), *row[1:]] for row in rows], width=2)
    phrases = phrase_pairs(*words, links)
    confidence, scores = (
        np.linspace(0.3, 1, len(values), dtype=np.float32)
        for values in (links.flat, phrases.flat)
    )
    return replace(
        pairs,
        links=links,
        confidence=Ragged(confidence, links.offsets),
        phrases=phrases,
        scores=Ragged(np.stack([scores, scores[::-1]] * 2, axis=1), phrases.offsets),
        text=tuple(lines_of(vocab, counts, seed) for seed, counts in enumerate(words)),
    )


def lines_of(vocab, word_counts, seed):
    """Lines of words of two subwords, as most of those of `sentences` are."""
    rng = np.random.default_rng(seed)
    words = ["".join(pair) for pair in rng.choice(single_subwords(vocab), size=(200, 2))]
    words = [
        word
        for word, pieces in zip(words, vocab.encode_words(words), strict=True)
        if len(pieces) == 2
    ]
    return TextColumns.of(
        Text.of([" ".join(rng.choice(words, size=count)) for count in word_counts])
    )


def single_subwords(vocab):
    words = [
        word
        for number in vocab.regular_ids
        if (word := vocab.decode([number]).strip()).isalpha()
    ]
    return [
        word
        for word, pieces in zip(words, vocab.encode_words(words), strict=True)
        if len(pieces) == 1
    ]


def lexicons(vocab):
    """Every second word that is one subword translates the one after it."""
    words = single_subwords(vocab)
    return {
        LANGUAGES: Lexicon.of(
            (one, two, 1.0) for one, two in zip(words[::2], words[1::2], strict=False)
        )
    }


# By term that predicts no token: how many words or subwords of the examples count. Of the words that `linked` links
# twice, the first source word's better link is to the second, which has a better one: for `word_aligned` neither stays.
WORDS = {
    "word_aligned": lambda pairs: sum(
        min(one.max(), two.max()) for one, two in words_of(pairs)
    ),
    "anchor": lambda pairs: sum(one.max() + 1 for one, _ in words_of(pairs)),
    "self_alignment": lambda pairs: sum(
        (one <= min(one.max(), two.max())).sum()
        + (two <= max(1, min(one.max(), two.max()))).sum()
        for one, two in words_of(pairs)
    ),
}

# They compare vectors of the 12 pairs, and predict no tokens.
VECTORS = {"contrastive", "distillation"}


def words_of(pairs):
    return zip(pairs.source.words, pairs.target.words, strict=True)


@pytest.fixture(params=OBJECTIVES.names())
def name(request):
    return request.param


@pytest.fixture
def objective(name):
    return OBJECTIVES.build({"name": name, "max_length": 40})


def prepared_for(objective, vocab, traits):
    return objective.prepare(Resources(vocab, traits, lexicons=lexicons(vocab)))


def batch_of(objective, vocab, traits, step=1):
    return made(
        objective, examples_for(objective, vocab), prepared_for(objective, vocab, traits), step
    )


def made(objective, examples, prepared, step=1):
    return objective.batch(examples, prepared, step, generator(Purpose.BATCH, 0, step, 0))


def arrays(value, name=""):
    """Path -> array of every array in dataclasses, tuples and dictionaries, as they are and not copied."""
    if isinstance(value, np.ndarray):
        return {name: value}
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, tuple):
        parts = dict(enumerate(value))
    else:
        parts = value if isinstance(value, dict) else {}
    return {
        path: array
        for key, part in parts.items()
        for path, array in arrays(part, f"{name}.{key}").items()
    }


def real(batch, vocab):
    """Which subwords are no padding, of what is read and, where there is such, of what is written."""
    ids = batch.inputs["input_ids"]
    sides = [batch.inputs.get("attention_mask", np.ones_like(ids)) == 1]
    return (
        [*sides, batch.extra["decoder_ids"] != vocab.pad]
        if "decoder_ids" in batch.extra
        else sides
    )


def must_equal(one, other):
    """Two dictionaries of arrays are the same, key by key."""
    assert set(one) == set(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name, strict=True)


def test_batches_are_pure_and_repeatable(objective, vocab, backbone):
    examples, prepared = (
        examples_for(objective, vocab),
        prepared_for(objective, vocab, backbone.traits),
    )
    before = {name: array.copy() for name, array in arrays((examples, prepared)).items()}
    one, two = made(objective, examples, prepared), made(objective, examples, prepared)
    must_equal(arrays(one), arrays(two))
    assert (one.counts, one.tokens, one.languages) == (two.counts, two.tokens, two.languages)
    must_equal(arrays((examples, prepared)), before)
    others = [
        made(objective, examples, prepared, step).inputs["input_ids"] for step in range(2, 6)
    ]
    is_drawn = objective.name not in {
        "back_translation",
        "clm",
        "self_alignment",
        "word_aligned",
        *VECTORS,
    }
    assert all(np.array_equal(one.inputs["input_ids"], ids) for ids in others) != is_drawn


@pytest.mark.parametrize("family", ["roberta"])
def test_threads_build_the_same_batches(objective, vocab, backbone):
    examples = examples_for(objective, vocab)

    def build(step, prepared):
        return arrays(made(objective, examples, prepared, step))

    def prepared():
        """In which nothing has been computed yet."""
        return prepared_for(objective, vocab, backbone.traits)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            batches = list(threads.map(build, range(8), repeat(prepared())))
    finally:
        sys.setswitchinterval(interval)
    expected = map(build, range(8), repeat(prepared()))
    for batch, expected_batch in zip(batches, expected, strict=True):
        must_equal(batch, expected_batch)


def test_predicts_no_special_or_padding_tokens(objective, vocab, backbone):
    batch = batch_of(objective, vocab, backbone.traits)
    assert (len(batch.labels) > 0) == (objective.name not in VECTORS)
    # a sentence that is written must end
    ends = [vocab.end] if objective.architecture == "seq2seq" else []
    assert not np.isin(batch.labels, np.setdiff1d(vocab.special_ids, ends)).any()
    sides = real(batch, vocab)
    assert sides[-1][batch.at].all()
    assert batch.tokens == sum(side.sum() for side in sides)


def test_counts_match_the_predictions_in_the_loss(objective, vocab, backbone):
    """A model of zeros guesses evenly: a prediction costs log V, so a total tells how many it sums over."""
    batch = batch_of(objective, vocab, backbone.traits)
    with torch.no_grad():
        for parameter in backbone.parameters():
            parameter.zero_()
    terms = objective.loss(backbone, objective.modules(backbone), batch.to(DEVICE))
    assert set(terms) == set(batch.counts)
    # summed by place
    assert list(batch.counts) == list(
        batch_of(objective, vocab, backbone.traits, step=2).counts
    )
    if objective.name in VECTORS:
        assert batch.counts == {objective.term: 12}
    else:
        assert batch.counts[objective.term] == len(batch.labels)
    for name, term in terms.items():
        if name.endswith(("_share", "_ratio")):  # for the record
            assert not term.weight
            assert (
                0 <= term.total <= batch.counts[name] * (40 if name.endswith("_ratio") else 1)
            )
        elif name == "contrastive":  # 12 vectors of zeros are equally near
            assert term.total.item() == pytest.approx(12 * math.log(12), rel=1e-4)
        elif name == "distillation":  # vectors of zeros are those of the teacher
            assert not term.total
        elif name in WORDS:
            assert batch.counts[name] == WORDS[name](examples_for(objective, vocab))
        else:
            # 1 - cos of two zeros
            each = 1 if name == "align" else math.log(backbone.vocab_size)
            assert term.total.item() == pytest.approx(batch.counts[name] * each, rel=1e-4)


def test_every_token_has_the_id_of_its_language(objective, vocab, backbone):
    batch, traits = batch_of(objective, vocab, backbone.traits), backbone.traits
    other = batch_of(objective, vocab, backbone.traits, step=2)
    assert set(batch.languages) == set(other.languages) <= set(LANGUAGES)
    assert not batch.languages or sum(batch.languages.values()) == batch.tokens
    if not FAMILIES[traits.family]:
        assert set(batch.inputs) <= {"input_ids", "attention_mask", "position_ids"}
        assert "decoder_languages" not in batch.extra
        return
    given = [batch.inputs[traits.language_input], batch.extra.get("decoder_languages")]
    ids = np.concatenate(
        [side[here] for side, here in zip(given, real(batch, vocab), strict=False)]
    )
    assert {
        language: (ids == traits.languages[language]).sum() for language in batch.languages
    } == batch.languages
    assert (
        len(set(ids.tolist())) == len(batch.languages) == (2 if objective.reads is Pairs else 1)
    )


def test_rejects_language_ids_for_models_without_them(name, learnt):
    asked = OBJECTIVES.build({"name": name, "language_ids": True, "max_length": 40})
    with pytest.raises(
        SettingsError, match=f"{name}: language_ids = true, but this bert model has no"
    ):
        prepared_for(asked, learnt, Traits("bert", 64))


def test_loss_decreases_with_finite_gradients_in_bfloat16(objective, vocab, backbone):
    batch = batch_of(objective, vocab, backbone.traits).to(DEVICE)
    torch.manual_seed(torch_seed(Purpose.HEADS, 0))
    heads = objective.modules(backbone)
    optimizer = torch.optim.AdamW([*backbone.parameters(), *heads.parameters()], lr=1e-2)
    losses = []
    for _ in range(15):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            terms = objective.loss(backbone, heads, batch)
        loss = sum(term.weight * term.total / batch.counts[key] for key, term in terms.items())
        losses.append(loss.item())
        loss.backward()
        gradients = [p.grad for p in backbone.parameters() if p.grad is not None]
        assert all(gradient.isfinite().all() for gradient in gradients)
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < 0.7 * losses[0]


def test_pair_costs_match_batch_sizes(objective, vocab, backbone):
    """Batches are cut by it, so it is no less than a batch of equal pairs takes, and little more."""
    if objective.reads is not Pairs:
        pytest.skip("reads single sentences")
    side = sentences(vocab, "en", 1)
    pairs = linked(Pairs(side, replace(side, language="xx")), vocab).take(
        np.zeros(12, np.int64)
    )
    batch = made(objective, pairs, prepared_for(objective, vocab, backbone.traits))
    lengths = pairs.source.lengths
    cost = objective.pair_costs(lengths, lengths).sum()
    size = batch.inputs["input_ids"].size + batch.extra.get("decoder_ids", np.zeros(0)).size
    assert cost - 12 * 2 * 4 <= size <= cost
    assert objective.pair_costs(np.array([90]), np.array([5]))[0] <= 2 * objective.max_length


@pytest.fixture(scope="module")
def further(tmp_path_factory):
    """By kind of a checkpoint, its folder and vocabulary."""
    folders = {kind: save(kind, tmp_path_factory.mktemp(kind)) for kind in FURTHER_KINDS}
    return {kind: (folder, Vocab.load(folder)) for kind, folder in folders.items()}


@pytest.mark.parametrize("kind", FURTHER_KINDS)
def test_every_family_learns_every_objective_or_says_why_not(kind, objective, further):
    folder, vocab = further[kind]
    speaks = MODEL_TYPES[kind].language_path
    backbone = load(folder, vocab, LANGUAGES if speaks else ())
    if objective.architecture == "seq2seq":
        with pytest.raises(SettingsError, match=f"{kind} family cannot be a decoder"):
            fresh_decoder(backbone.model.config, 0)
        return
    batch = batch_of(objective, vocab, backbone.traits).to(DEVICE)
    heads = objective.modules(backbone)
    if objective.architecture == "causal" and not backbone.family.causal:
        with pytest.raises(SettingsError, match=f"{kind} model cannot be causal"):
            objective.loss(backbone, heads, batch)
        return
    terms = objective.loss(backbone.train(), heads, batch)
    loss = sum(term.weight * term.total / batch.counts[name] for name, term in terms.items())
    loss.backward()
    assert loss.isfinite()
    gradient = backbone.input_embeddings.grad
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0
