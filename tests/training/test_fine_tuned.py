"""Fine-tuned models on disk: plain transformers computes the same logits, in every family and task."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from interlace.core.errors import CheckpointError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import LabeledExamples, Pairs
from interlace.data.vocab import Vocab
from interlace.models.backbone import Backbone
from interlace.models.build import from_shape
from interlace.models.settings import Shape
from interlace.objectives import Resources
from interlace.readers.common.questions import NOT_FOUND, AnsweredQuestion, question_pairs
from interlace.tasks import TASKS, FineTuneTask
from interlace.tasks.mlqa import encode_questions
from interlace.training.fine_tuned import fine_tuned_name, save_fine_tuned

TASK_NAMES = [name for name in TASKS.names() if issubclass(TASKS.get(name), FineTuneTask)]
FAMILIES = ["bert", "roberta", "xlm"]
WORDS = "the doctor reads a letter in his garden and sees three birds".split()


@pytest.fixture(scope="module")
def vocab():
    return Vocab.learn({"en": [" ".join(WORDS)] * 20}, size=320)


def backbone_of(family, vocab, languages=()):
    if family == "xlm":
        config = transformers.XLMConfig(
            vocab_size=vocab.size, emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=40, n_langs=1,
            use_lang_emb=False, pad_index=vocab.pad, pad_token_id=vocab.pad, dropout=0.0, attention_dropout=0.0,
        )  # fmt: skip
        torch.manual_seed(0)
        return Backbone(transformers.XLMWithLMHeadModel(config).eval())
    shape = Shape(family=family, layers=2, width=16, heads=2, max_length=40)
    return from_shape(shape, vocab, languages, seed=0).eval()


def sentences_of(vocab):
    return vocab.encode(
        [" ".join(WORDS[start : start + 5]) for start in range(6)], language="en"
    )


def examples_of(task, vocab):
    if task.name == "mlqa":
        rows = []
        for start in range(6):
            context = " ".join(WORDS[start:])
            rows.append(AnsweredQuestion(context, "who reads ?", "", NOT_FOUND, []))
        pairs = question_pairs(rows, ("en", "en"), "whitespace")
        return encode_questions([pairs], vocab)
    sentences = sentences_of(vocab)
    if task.name in {"pos", "ner"}:
        return LabeledExamples(sentences, tags=Ragged.of([[0, 1, 0, 1, 0]] * 6))
    labels = np.arange(6, dtype=np.int32) % 2
    return LabeledExamples(Pairs(sentences, sentences), labels=labels)


def saved(folder, backbone, vocab, task):
    head = task.head()
    torch.manual_seed(1)
    modules = head.modules(backbone).eval()
    torch.nn.init.normal_(modules["linear"].weight)
    torch.nn.init.normal_(modules["linear"].bias)
    prepared = head.prepare(Resources(vocab, backbone.traits))
    save_fine_tuned(
        folder, backbone, head, modules, prepared, language="en", classes=task.classes, key="k"
    )
    return head, modules, prepared


def their_logits(model, batch, name, layout):
    with torch.inference_mode():
        found = model(**batch.inputs)
    if name == "mlqa":
        return torch.stack([found.start_logits, found.end_logits], dim=-1)
    return found.logits[batch.at] if layout == "words" else found.logits


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TASK_NAMES)
def test_transformers_computes_the_same_logits(name, family, vocab, tmp_path):
    backbone, task = backbone_of(family, vocab), TASKS.build(name)
    examples = examples_of(task, vocab)
    head, modules, prepared = saved(tmp_path / "saved", backbone, vocab, task)
    config = json.loads((tmp_path / "saved/config.json").read_text())
    auto_class = getattr(transformers, config["architectures"][0])
    model, report = auto_class.from_pretrained(
        tmp_path / "saved", trust_remote_code=False, output_loading_info=True
    )
    assert not any(
        report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")
    )
    batch = head.batch(
        head.sequences(examples, prepared), prepared, 0, generator(Purpose.EVALUATE, 0)
    ).to(torch.device("cpu"))
    with torch.inference_mode():
        expected = head.logits(backbone, modules, batch)
    assert expected.std() > 0.1
    found = their_logits(
        model.eval(), batch, name, "words" if "words" in batch.extra else "rows"
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    if task.classes:
        assert [model.config.id2label[number] for number in range(len(task.classes))] == list(
            task.classes
        )
        assert model.config.label2id == {
            label: number for number, label in enumerate(task.classes)
        }
    assert transformers.AutoTokenizer.from_pretrained(
        tmp_path / "saved", trust_remote_code=False
    )


def test_plain_transformers_reads_the_training_language(vocab, tmp_path):
    backbone, task = backbone_of("bert", vocab, ("xx", "en")), TASKS.build("ner")
    with torch.no_grad():
        backbone.language_embeddings.normal_()
    head, modules, prepared = saved(tmp_path / "saved", backbone, vocab, task)
    batch = head.batch(
        examples_of(task, vocab), prepared, 0, generator(Purpose.EVALUATE, 0)
    ).to(torch.device("cpu"))
    expected = head.logits(backbone, modules, batch)
    inputs = {name: value for name, value in batch.inputs.items() if name != "token_type_ids"}
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        tmp_path / "saved", trust_remote_code=False
    )
    torch.testing.assert_close(
        model.eval()(**inputs).logits[batch.at], expected, rtol=1e-4, atol=1e-4
    )


def test_a_head_that_transformers_lacks_is_kept_as_ours(vocab, tmp_path):
    backbone, task = backbone_of("modernbert", vocab), TASKS.build("xnli")
    _, modules, _ = saved(tmp_path / "saved", backbone, vocab, task)
    weights = load_file(tmp_path / "saved/head.safetensors")
    torch.testing.assert_close(weights, dict(modules.state_dict()))


def test_weights_that_are_not_finite_are_not_saved(vocab, tmp_path):
    backbone = backbone_of("bert", vocab)
    with torch.no_grad():
        backbone.input_embeddings[3] = torch.nan
    with pytest.raises(CheckpointError, match="not finite"):
        saved(tmp_path / "saved", backbone, vocab, TASKS.build("ner"))
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("task", "setting", "per_language", "name"),
    [
        ("ner", "zero-shot", False, "ner.zero-shot.2"),
        ("ner", "zero-shot", True, "ner.zero-shot.de.2"),
        ("my/ner", "supervised", False, "my-ner.supervised.de.2"),
    ],
)
def test_names_tell_fine_tunings_apart(task, setting, per_language, name):
    assert fine_tuned_name(task, [(setting, "de")], 2, per_language=per_language) == name
