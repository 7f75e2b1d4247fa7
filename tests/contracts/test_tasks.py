"""The contract of tasks, for every entry of the registry; a task without an entry in `CASES` fails.

The data: two languages that translate each other word by word. Every word has one tag, and what follows from a premise
hangs on one word of the hypothesis, so a tiny model can learn all of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator, torch_seed
from interlace.data.vocab import Vocab
from interlace.models.build import from_shape, load
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.tasks import TASKS, FineTuneTask
from interlace.tasks.common.prediction import predict_all
from little_checkpoints import FURTHER_KINDS, save
from little_files import write

SPLITS = {"train": 60, "dev": 20, "test": 24}
NOUNS = ["doctor", "letter", "garden", "river", "teacher", "window", "mountain", "village"]
VERBS = ["reads", "sees", "finds", "paints"]
LEXICON = {
    word: word[::-1] + "o" for word in [*NOUNS, *VERBS, "the", "maybe", "never", "always"]
}
SIGNS = {"entailment": "always", "neutral": "maybe", "contradiction": "never"}
# and the languages each has embeddings for
LANGUAGES = {
    "bert": ("en", "xx"),
    "roberta": (),
    "modernbert": (),
}

# ---- a set of tiny files for every task, laid out as the toy corpus lays them out ----


def sentence(rng):
    first, second = rng.choice(NOUNS, 2, replace=False)
    return ["the", str(first), str(rng.choice(VERBS)), "the", str(second)]


def say(words, language):
    return " ".join(words if language == "en" else [LEXICON[word] for word in words])


def sentences(split):
    """Distinct ones, the same in both languages."""
    rng = np.random.default_rng(list(SPLITS).index(split))
    found = {}
    while len(found) < SPLITS[split]:
        words = sentence(rng)
        found.setdefault(tuple(words), words)
    return list(found.values())


def tag(word):
    return "NOUN" if word in NOUNS else "VERB" if word in VERBS else "DET"


def pos(split, language):
    rows = []
    for words in sentences(split):
        rows += [
            (str(number), say([word], language), "_", tag(word), *["_"] * 6)
            for number, word in enumerate(words, 1)
        ]
        rows.append("")
    return {f"pos/{split}.{language}.conllu": rows}


def ner(split, language):
    rows = []
    for words in sentences(split):
        rows += [(say([word], language), "B-PER" if word in NOUNS else "O") for word in words]
        rows.append("")
    return {f"ner/{split}.{language}.tsv": rows}


def xnli(split, language):
    rows = [("language", "gold_label", "sentence1", "sentence2")]
    for number, words in enumerate(sentences(split)):
        label = list(SIGNS)[number % 3]
        rows.append(
            (language, label, say(words, language), say([SIGNS[label], *words], language))
        )
    return {f"nli/{split}.{language}.tsv": rows}


def pawsx(split, language):
    rows = []
    for number, words in enumerate(sentences(split)):
        sign = "always" if number % 2 else "never"
        rows.append((say(words, language), say([sign, *words], language), str(number % 2)))
    return {f"pawsx/{split}-{language}.tsv": rows}


def mlqa(split, language):
    passages = []
    for number, words in enumerate(sentences(split)):
        context = say(words, language)
        asked, place = (("maybe", 1), ("never", 4))[number % 2]
        answer = say([words[place]], language)
        answers = [{"text": answer, "answer_start": context.index(answer)}]
        question = {"id": str(number), "question": say([asked], language), "answers": answers}
        passages.append({"context": context, "qas": [question]})
    return {f"qa/{split}.{language}.json": [json.dumps({"data": [{"paragraphs": passages}]})]}


def parallel(split, language):
    return {
        f"parallel/{split}.en-xx.{language}": [
            say(words, language) for words in sentences(split)
        ]
    }


def aligned(split, language):
    links = [" ".join(f"{i}-{i}" for i in range(5)) for _ in sentences(split)]
    text = parallel(split, language)[f"parallel/{split}.en-xx.{language}"]
    return {
        f"parallel/{split}.en-xx.{language}.tok": text,
        f"parallel/{split}.en-xx.links": links,
    }


def running_text(split, language):
    return {
        f"text/{split}.{language}.txt": [say(words, language) for words in sentences(split)]
    }


def dictionary(split, language):
    return {"dict/en-xx.txt": list(LEXICON.items())}


def similarity(split, language):
    """The first word beside each other one, less similar the later it comes."""
    first, *others = (say([word], language) for word in LEXICON)
    return {
        f"similarity/{language}.tsv": [
            (first, other, str(-place)) for place, other in enumerate(others)
        ]
    }


def separate(split, language):
    """Names of translations, scores of words and a training dictionary, in files of their own."""
    lines = [
        (f"{language}-{number}", say(words, language))
        for number, words in enumerate(sentences(split))
    ]
    return {
        f"named/{split}.{language}": lines,
        f"gold/{split}": [f"en-{number}\txx-{number}" for number in range(9)],
        "words/xx": [(say([word], "xx"), say(["the"], "xx")) for word in NOUNS],
        "scores/xx": [str(place) for place, _ in enumerate(NOUNS)],
    }


# ---- embeddings of a perfect probe, or with a shift of a wrong one ----


def translate_table(backbone, vocab, shift):
    """Give every word of the second language the row of its translation, or of another word."""
    sources, targets = (
        vocab.encode_words(list(words)) for words in (LEXICON.keys(), LEXICON.values())
    )
    assert (sources.lengths == 1).all()
    assert (targets.lengths == 1).all()
    with torch.no_grad():
        backbone.input_embeddings.normal_(std=0.5, generator=torch.Generator().manual_seed(3))
        rows = torch.as_tensor(np.roll(sources.flat, shift).astype(np.int64))
        backbone.input_embeddings[torch.as_tensor(targets.flat.astype(np.int64))] = (
            backbone.input_embeddings[rows]
        )
        if backbone.traits.languages:  # a language's vector would move all its sentences
            backbone.model.base_model.embeddings.token_type_embeddings.weight.zero_()


def fan_out_table(backbone, vocab, shift):
    """Turn each word of the second language a little further away from the first one, or from the second."""
    rows = torch.as_tensor(vocab.encode_words(list(LEXICON.values())).flat.astype(np.int64))
    angles = torch.arange(len(rows)).roll(shift) * torch.pi / len(rows)
    with torch.no_grad():
        backbone.input_embeddings.zero_()
        backbone.input_embeddings[rows, 0], backbone.input_embeddings[rows, 1] = (
            angles.cos(),
            angles.sin(),
        )


# ---- what the suite needs to know of each task; a new task adds one entry ----


class Case(NamedTuple):
    """How a task is tested.

    files: returns rows by file name for a split and language. table: sets the embeddings of a model that a probe scores
    100; None: its own tests do. sums: whether the metric adds up over examples. pairs: whether it needs two languages.
    decoder: whether it needs a translation model. missing: a language without files. readings: further settings and
    languages whose files are listed.
    """

    files: Callable[[str, str], dict[str, Any]]
    table: Callable[..., None] | None = None
    unit: str = "%"
    sums: bool = True
    pairs: bool = False
    decoder: bool = False
    missing: str = "xy"
    readings: tuple[tuple[dict[str, Any], str], ...] = ()


TEXT = {"candidates": "text"}
JUDGED = {"files": "words/{language}", "gold": "scores/{language}"}
DIRECTIONS = (({}, "en-xx"), ({}, "xx-en"))
CASES = {
    "embedding_alignment": Case(dictionary, translate_table, readings=((TEXT, "xx"),)),
    "mlqa": Case(mlqa),
    "mt": Case(parallel, unit="BLEU", pairs=True, decoder=True, readings=DIRECTIONS),
    "ner": Case(ner),
    "pawsx": Case(pawsx),
    "perplexity": Case(running_text, unit="per subword"),
    "pos": Case(pos),
    "retrieval": Case(parallel, translate_table, pairs=True),
    "round_trip": Case(
        running_text, unit="BLEU", decoder=True, missing="xy-xx", readings=DIRECTIONS
    ),
    "word_alignment": Case(aligned, pairs=True),
    "word_similarity": Case(similarity, fan_out_table, sums=False, readings=((JUDGED, "xx"),)),
    "word_translation": Case(dictionary, translate_table, pairs=True),
    "xnli": Case(xnli),
}
NAMES = TASKS.names()
FINE_TUNED = [name for name in NAMES if issubclass(TASKS.get(name), FineTuneTask)]
PROBES = [name for name in NAMES if name not in FINE_TUNED]
for_fine_tuned = pytest.mark.parametrize("name", FINE_TUNED, indirect=True)
for_probes = pytest.mark.parametrize("name", PROBES, indirect=True)
for_translations = pytest.mark.parametrize(
    "name", [name for name in CASES if CASES[name].table], indirect=True
)
for_pairs = pytest.mark.parametrize(
    "name", [name for name in CASES if CASES[name].pairs], indirect=True
)


def write_files(root, *makers):
    for make, split, language in product(makers, SPLITS, ("en", "xx")):
        for name, rows in make(split, language).items():
            write(root, name, *rows)


@pytest.fixture(scope="module")
def vocab():
    lines = [say(words, language) for words in sentences("train") for language in ("en", "xx")]
    extra = [say(list(LEXICON), language) for language in ("en", "xx")]
    return Vocab.learn({"both": (lines + extra) * 5}, size=900).with_target_languages(
        ["en", "xx"]
    )


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def task(name):
    return TASKS.build(name)


@pytest.fixture
def root(name, tmp_path):
    write_files(tmp_path, CASES[name].files)
    return tmp_path


@pytest.fixture(params=LANGUAGES)
def backbone(request, vocab):
    shape = Shape(
        family=request.param,
        layers=1,
        width=16,
        heads=2,
        max_length=48,
        dropout=0.0,
        attention_dropout=0.0,
    )
    return from_shape(shape, vocab, LANGUAGES[request.param], seed=0)


# ---- every task ----


def test_every_task_has_a_case():
    assert list(CASES) == NAMES


def test_a_task_names_its_metric(task, name):
    assert task.metric
    assert task.unit == CASES[name].unit


OPENED = []  # the paths that are opened while one stands here
sys.addaudithook(
    lambda event, args: OPENED.append(str(args[0])) if OPENED and event == "open" else None
)
READING = [
    ({"name": name, **settings}, language)
    for name, case in CASES.items()
    for settings, language in [({}, "xx"), *case.readings]
]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("settings", "language"), READING)
def test_read_files_lists_all_files_that_are_opened(settings, language, split, vocab, tmp_path):
    """Scores are kept as long as these files hold the same, so none may be forgotten."""
    write_files(tmp_path, CASES[settings["name"]].files, separate, running_text)
    task = TASKS.build(settings)
    told = set(map(str, task.read_files(split, language, tmp_path)))
    OPENED.append("")
    assert (task.examples(split, language, vocab, tmp_path).lengths > 0).all()
    opened = {path for path in OPENED if path.startswith(str(tmp_path))}
    OPENED.clear()
    assert told == opened != set()


def test_a_missing_file_is_named(task, name, root, vocab):
    with pytest.raises(DataError, match=rf"(?s){name}.*'xy'.*there is no file .*xy"):
        task.examples("test", CASES[name].missing, vocab, root)


@for_pairs
def test_a_language_is_not_paired_with_itself(task, root, vocab):
    with pytest.raises(
        DataError,
        match=r"source and target are both 'en'|'en' cannot be translated into itself",
    ):
        task.examples("test", "en", vocab, root)
    assert list(task.texts("test", "en", root)) == []


def test_an_empty_file_is_an_error(task, root, vocab):
    for path in root.rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        task.examples("test", "xx", vocab, root)


def test_rejects_unknown_placeholders(name):
    with pytest.raises(SettingsError, match="did you mean 'language'"):
        TASKS.build({"name": name, "files": "{split}.{langage}"})


# ---- tasks that train ----


def batch_of(task, examples, vocab, backbone, step=0):
    learner = task.head()
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    return learner.batch(
        learner.sequences(examples, prepared), prepared, step, generator(Purpose.BATCH, 0, step)
    )


@for_fine_tuned
def test_batches_are_pure_and_predict_content(task, root, vocab, backbone):
    examples = task.examples("train", "en", vocab, root)
    batch = batch_of(task, examples, vocab, backbone)
    again = batch_of(task, examples, vocab, backbone, step=7)
    np.testing.assert_equal(batch.inputs, again.inputs)
    np.testing.assert_array_equal(batch.labels, again.labels)
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids))
    assert real[batch.at].all()
    assert batch.tokens == real.sum()
    assert (batch.labels >= 0).all()
    if "words" in batch.extra:
        assert not np.isin(ids[batch.at], vocab.special_ids).any()
    assert sum(batch.counts.values()) == len(batch.labels) == len(batch.at[0])
    traits = backbone.traits
    language_ids = batch.inputs.get(traits.language_input or "")  # a head may feed none
    assert language_ids is None or set(language_ids.flat) == {traits.languages["en"]}


def train(learner, batch, backbone, updates):
    """Return the loss of each update and the trained heads."""
    torch.manual_seed(torch_seed(Purpose.HEADS, 0))
    heads = learner.modules(backbone)
    optimizer = torch.optim.AdamW([*backbone.parameters(), *heads.parameters()], lr=1e-2)
    losses = []
    for _ in range(updates):
        terms = learner.loss(backbone, heads, batch)
        assert set(terms) == set(batch.counts)
        loss = sum(term.weight * term.total / batch.counts[key] for key, term in terms.items())
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses, heads


@for_fine_tuned
def test_learns_and_predicts(task, root, vocab, backbone):
    examples = task.examples("train", "en", vocab, root)
    learner = task.head()
    batch = batch_of(task, examples, vocab, backbone).to(torch.device("cpu"))
    losses, heads = train(learner, batch, backbone, updates=60)
    assert losses[-1] < 0.5 * losses[0]
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    predictions = predict_all(learner, backbone, heads, examples, prepared, 256)
    scores = task.score(examples, predictions)
    assert 80 < scores[task.metric] <= 100
    assert_sums(task, scores)


@pytest.fixture(scope="module")
def further(tmp_path_factory):
    """By kind of a checkpoint, its folder and vocabulary."""
    folders = {kind: save(kind, tmp_path_factory.mktemp(kind)) for kind in FURTHER_KINDS}
    return {kind: (folder, Vocab.load(folder)) for kind, folder in folders.items()}


@pytest.mark.parametrize("kind", FURTHER_KINDS)
@pytest.mark.parametrize("name", ["mlqa", "pos", "xnli"])  # one of each kind of head
def test_every_family_is_fine_tuned(task, root, kind, further):
    folder, vocab = further[kind]
    backbone = load(folder, vocab)
    examples = task.examples("train", "en", vocab, root)
    learner = task.head()
    prepared = learner.prepare(Resources(vocab, backbone.traits))
    rows = learner.sequences(examples, prepared).take(np.arange(12))
    batch = learner.batch(rows, prepared, 0, generator(Purpose.BATCH, 0, 0))
    batch = batch.to(torch.device("cpu"))
    losses, heads = train(learner, batch, backbone.eval(), updates=5)
    assert losses[-1] < losses[0]
    predictions = predict_all(learner, backbone, heads, examples, prepared, 1024)
    assert_sums(task, task.score(examples, predictions))


def assert_sums(task, scores):
    if scores.outcomes is not None:
        assert 100 * scores.outcomes.total == pytest.approx(scores[task.metric])
        assert len(scores.outcomes.identity) == 16


def flat(values):
    return values.flat if isinstance(values, Ragged) else values


def like(values, flat_values):
    return Ragged(flat_values, values.offsets) if isinstance(values, Ragged) else flat_values


def others(right, task):
    """For every example something wrong: the next class, or another question's answer."""
    return (
        np.roll(right, 1, axis=0)
        if right.dtype.names
        else (right + 1) % min(task.head().classes, 3)
    )


@for_fine_tuned
def test_gold_scores_100_and_mistakes_less(task, root, vocab):
    examples = task.examples("test", "en", vocab, root)
    gold = task.head().gold(examples)
    right = np.asarray(flat(gold))
    assert task.score(examples, gold)[task.metric] == 100
    wrong = right.copy()
    wrong[0] = others(right, task)[0]
    missing = right.copy()
    missing[-1] = task.head().empty_predictions(1).flat[0]
    less = [task.score(examples, like(gold, worse))[task.metric] for worse in (wrong, missing)]
    assert less == [pytest.approx(100 * (1 - 1 / len(right)))] * 2 or task.metric == "f1"
    assert max(less) < 100
    assert task.score(examples, like(gold, others(right, task)))[task.metric] < 50


# ---- probes ----


@for_translations
def test_a_perfect_model_scores_100_and_a_wrong_one_less(name, task, root, vocab, backbone):
    examples = task.examples("test", "xx", vocab, root)
    CASES[name].table(backbone, vocab, shift=1)
    scores = task.measure(backbone, vocab, examples)
    assert scores[task.metric] < 50
    assert_sums(task, scores)
    CASES[name].table(backbone, vocab, shift=0)
    scores = task.measure(backbone, vocab, examples)
    assert_sums(task, scores)
    assert (scores.outcomes is not None) == CASES[name].sums
    # a threshold from other sentences may cost something
    assert scores.metrics.get("best f1", scores[task.metric]) == 100
    assert all(0 <= score <= 100 for score in scores.metrics.values())
    for metric in scores.metrics:
        task.check_metric(metric)


@for_probes
def test_measuring_is_repeatable_and_changes_nothing(name, task, root, vocab, backbone):
    examples = task.examples("test", "xx", vocab, root)
    if CASES[name].decoder:
        backbone = join(backbone, fresh_decoder(backbone.model.config, 0))
    backbone.causal = name == "perplexity"
    before = {key: value.clone() for key, value in backbone.state_dict().items()}
    backbone.train()
    one, two = (task.measure(backbone, vocab, examples) for _ in range(2))
    assert one.metrics == two.metrics
    assert backbone.training
    assert all(torch.equal(value, before[key]) for key, value in backbone.state_dict().items())
