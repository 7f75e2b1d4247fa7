"""Estimate the cost of a recipe before training: tokens, memory and hours on this machine.

Time is measured by a few updates of the recipe's model on random tokens, and by an update of back-translation, which
first generates its input. Memory is counted: weights, gradients, Adam's two moments, saved activations and logits.
Excluded: heads and further passes of objectives (see docs/results/speed.md), evaluation, fine-tuning and data
preparation.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from interlace.core.errors import InterlaceError, SettingsError
from interlace.core.ragged import Ragged
from interlace.core.schedules import value_at, values_of
from interlace.data import Sentences
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.experiments.corpora import word_tokenizer_note
from interlace.experiments.inputs import missing_inputs
from interlace.experiments.mixing import with_limited_lengths
from interlace.experiments.prepare import corpus_files
from interlace.experiments.recipe import Recipe, tokenizer_of
from interlace.models.backbone import Backbone
from interlace.models.blocks import wrap_blocks
from interlace.models.build import build_model
from interlace.models.token_embeddings import read_vectors
from interlace.objectives import Resources
from interlace.objectives.back_translation import BackTranslation
from interlace.objectives.common.losses import MAX_LOGITS, vocabulary_loss
from interlace.objectives.common.seq2seq import Seq2SeqObjective
from interlace.readers import is_hub
from interlace.training.device import accelerator_for, peak_flops, training_flops

if TYPE_CHECKING:
    from accelerate import Accelerator

_BYTES_PER_TOKEN = 4.5
_SECONDS = 2.0  # of measurement, after a first update


@dataclass(frozen=True)
class ModelCost:
    """The size and speed of a model.

    parameters: all. trainable: not frozen. table: of the input embeddings. decoder: not shared with the encoder; 0
        without a decoder.
    speed: tokens per second on one process, with padding. memory: bytes on one process. hours: of updates.
    process: bytes of main memory that Python, torch and the tokenizer hold besides; 0 on a GPU.
    notes: how the model differs from its start.
    translating: share of the time in which back-translation generates its input.
    tflops: 10^12 floating-point operations of matrix products a second, 0 if unknown, see `training_flops`;
        peak_share: of the measured peak, on a GPU.
    """

    parameters: int
    table: int
    decoder: int
    device: str
    speed: float
    memory: int
    hours: float
    translating: float = 0.0
    trainable: int = 0
    tflops: float = 0.0
    peak_share: float | None = None
    process: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextFiles:
    """Files of training text: their number, the bytes of existing ones, and the paths of missing ones."""

    files: int
    bytes: int
    missing: list[str]

    @property
    def tokens(self) -> float:
        """A rough number of tokens: subwords of 4.5 bytes, which are 1.5 characters in scripts of three bytes each."""
        return self.bytes / _BYTES_PER_TOKEN


@dataclass(frozen=True)
class Estimate:
    """The estimate of a run; tokens are those of one process, with padding. notes: problems, such as missing files."""

    recipe: str
    steps: int
    tokens_per_step: int
    tokens: int
    text: TextFiles | None
    cost: ModelCost | None
    notes: list[str]


def estimate(recipe: Recipe) -> Estimate:
    """Find the files, build the model and measure it: seconds, or a minute for billions of parameters."""
    recipe.check_trainable()
    recipe.check_data_root()
    train, notes = recipe.train, []
    a_step = train.tokens_per_update
    try:
        cost = _cost(recipe, a_step * train.steps)
    except SettingsError:
        raise  # the run would fail too; missing files may still appear
    except InterlaceError as error:
        cost = None
        notes.append(f"the model cannot be measured: {error}")
    if cost is not None:
        notes += cost.notes
    if recipe.vocab.extend:
        notes.append(f"without the {recipe.vocab.extend:,} tokens of vocab.extend")
    text = training_files(recipe)
    missing = missing_inputs(recipe)
    notes += [*missing.training, *missing.evaluation]
    notes += [f"no plot of word vectors: {message}" for message in missing.skipped]
    if not missing.training and (words := _words_note(recipe)):
        notes.append(words)
    return Estimate(recipe.name, train.steps, a_step, a_step * train.steps, text, cost, notes)


def _words_note(recipe: Recipe) -> str:
    """Return the note on the word tokenizer; a data set of the hub is not downloaded for it."""
    patterns = [pattern for group in recipe.corpora.values() for pattern in group.train]
    if recipe.toy is not None or any(map(is_hub, patterns)):
        return ""
    return word_tokenizer_note(recipe, recipe.root)


def _cost(recipe: Recipe, tokens: int) -> ModelCost:
    accelerator = accelerator_for(recipe.train.precision, recipe.train.threads)
    device = accelerator.device
    model = recipe.model
    if model.vectors is not None and not tokenizer_of(recipe):  # vectors without a tokenizer are only checked
        read_vectors(model)
        model = model.model_copy(update={"vectors": None})
    vocab = _vocab(recipe)
    held = _peak_of_process()  # with the tokenizer, which takes 0.35 GB for 250,000 entries
    backbone = build_model(model, vocab, recipe.languages, recipe.seed, causal=recipe.causal, seq2seq=recipe.seq2seq)
    recipe = with_limited_lengths(recipe, backbone.traits, logging.DEBUG)
    benchmark = _Benchmark(recipe, backbone.to(device).train(), vocab.size, accelerator)
    rate, kept = benchmark.run()
    peak, operations = peak_flops(accelerator), rate * benchmark.flops
    updates = [(BackTranslationUpdates(each, backbone, vocab, recipe.languages), part) for each, part in shares(recipe)]
    written = sum(part * max(benchmark.seconds(each) - 1 / rate, 0.0) for each, part in updates)  # seconds per token
    speed = 1 / (1 / rate + written)
    parameters, trainable = (
        sum(parameter.numel() for parameter in backbone.parameters() if parameter.requires_grad or every)
        for every in (True, False)
    )
    cuda = device.type == "cuda"
    memory = round(  # with a gradient and two moments
        4 * parameters + 12 * trainable + kept * recipe.train.micro_batch_tokens + benchmark.head_memory
    )
    return ModelCost(
        parameters=parameters,
        table=backbone.input_embeddings.numel(),
        decoder=parameters - sum(parameter.numel() for parameter in backbone.model.parameters()),
        device=torch.cuda.get_device_name(device) if cuda else f"a CPU, threads: {torch.get_num_threads()}",
        speed=speed,
        memory=memory,
        hours=tokens / speed / 3600,
        translating=written * speed,
        trainable=trainable,
        tflops=operations / 1e12,
        peak_share=operations / peak if peak and operations else None,
        process=0 if cuda else max(held, _peak_of_process() - memory),
        notes=backbone.notes,
    )


def _peak_of_process() -> int:
    """Return the most bytes that this process has held; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _vocab(recipe: Recipe) -> Vocab:
    """Return the existing tokenizer, or one with as many words as tokens to learn."""
    if start := tokenizer_of(recipe):
        vocab = Vocab.load(start)
    else:
        words = (f"w{number}" for number in range(recipe.vocab.size - len(ROLES)))
        vocab = Vocab(word_level_tokenizer(words), ROLES, {}, "of the same size")
    return vocab.with_target_languages(recipe.languages) if recipe.seq2seq else vocab


class _Benchmark:
    """Updates of the recipe's model on random tokens, in sequences of its objectives' maximum length.

    A translation model predicts all target tokens; both sides count.
    """

    def __init__(self, recipe: Recipe, backbone: Backbone, vocab: int, accelerator: Accelerator) -> None:
        self.flops = 0.0  # a token
        self._train = recipe.train
        objectives: list[Any] = [recipe.objective(name) for name in recipe.objectives]
        self._length = max(objective.max_length for objective in objectives)
        self._passes = max(objective.vocabulary_passes for objective in objectives)
        masking = [getattr(objective, "masking", None) for objective in objectives]  # maximum share of predicted tokens
        rates = [1.0 if rule is None else max(values_of(str(rule.rate))) for rule in masking]
        self._predicted = 1.0 if recipe.seq2seq else max(rates)
        lengths = np.array([self._length])
        decoders = [objective for objective in objectives if isinstance(objective, Seq2SeqObjective)]
        self._target = max((int(decoder.decoder_lengths(lengths)[0]) for decoder in decoders), default=0)
        self._row = self._length + self._target
        self._rows = 1  # sequences in a measured update
        self._most = max(recipe.train.micro_batch_tokens // self._row, 1)
        self._backbone, self._vocab, self._device = backbone, vocab, accelerator.device
        self._optimizer = recipe.train.optimizer.build(backbone)
        self._autocast = accelerator.autocast

    def run(self) -> tuple[float, float]:
        """Return tokens per second, and bytes of saved activations per token.

        With gradient checkpointing these are the inputs of all layers and the activations of one.
        """
        self.flops = training_flops(self._loss(1)) / self._row
        self._update(1)  # warm up
        kept = _SavedTensors(self._backbone)
        with torch.autograd.graph.saved_tensors_hooks(kept.save, lambda tensor: tensor):
            one = self._update(1)
        checkpointing, compiled, held = self._train.gradient_checkpointing, self._train.compile, kept.bytes
        if checkpointing:
            decoder: Any = getattr(self._backbone, "decoder", None)
            sides: list[Any] = [(self._backbone.model, self._length), (decoder, self._target)]
            layers = [(int(model.config.num_hidden_layers), length) for model, length in sides if model is not None]
            inputs = 4 * self._backbone.width * sum(depth * length for depth, length in layers)
            held = round(kept.bytes / sum(depth for depth, _ in layers)) + inputs
        if checkpointing or compiled:
            wrap_blocks(self._backbone, checkpointing=checkpointing, compiled=compiled)
            one = min(self._update(1) for _ in range(3))
        rows = max(min(int(_SECONDS / 4 / one), self._most), 1)
        if rows > 1:
            self._update(rows)
        times: list[float] = []
        while not times or sum(times) < _SECONDS:
            times.append(self._update(rows))
        self._rows = rows
        return rows * self._row / sorted(times)[len(times) // 2], held / self._row

    @property
    def head_memory(self) -> int:
        """Bytes of logits and softmax that a loss holds at once, and of the table's gradients beyond the first.

        A loss makes one in each pass of the head, beside the sum over earlier micro-batches.
        """
        predictions = round(self._most * (self._target or self._length) * self._predicted)
        table: int = self._backbone.input_embeddings.numel()
        tables = self._passes - 1 + (self._train.micro_batches > 1)
        return int(8 * min(predictions * self._vocab, MAX_LOGITS) + 4 * table * tables)

    def seconds(self, translating: BackTranslationUpdates) -> float:
        """Return the seconds per token of a back-translation update, in batches of the size of `run`."""
        self._timed(translating.loss(1, self._device))
        return self._timed(translating.loss(self._rows, self._device)) / (self._rows * translating.row)

    def _update(self, rows: int) -> float:
        """Return the seconds of one update on random tokens."""
        return self._timed(self._loss(rows))

    def _loss(self, rows: int) -> Callable[[], torch.Tensor]:
        """Return a function that computes the mean loss of random tokens."""
        ids = torch.randint(self._vocab, (rows, self._length), device=self._device)
        count = rows * (self._target or self._length)
        at = torch.randint(count, (max(round(count * self._predicted), 1),), device=self._device)

        def loss() -> torch.Tensor:
            states = self._backbone.encode({"input_ids": ids})
            if self._target:
                model: Any = self._backbone
                states = model.decode(states, None, {"input_ids": ids[:, : self._target]})
            return vocabulary_loss(self._backbone, states.flatten(0, 1)[at], ids.flatten()[at])[0] / len(at)

        return loss

    def _timed(self, loss: Callable[[], torch.Tensor]) -> float:
        """Return the seconds of one update by a loss."""
        cuda = self._device.type == "cuda"
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        with self._autocast():
            total: Any = loss()
        total.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()
        if cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - start


class _SavedTensors:
    """Counts the bytes of tensors that autograd saves for backward, each once, without weights."""

    def __init__(self, backbone: Backbone) -> None:
        self._seen = {parameter.untyped_storage().data_ptr() for parameter in backbone.parameters()}
        self._held: list[torch.Tensor] = []  # keeps addresses unique
        self.bytes = 0

    def save(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self._held.append(tensor)
            self.bytes += storage.nbytes()
        return tensor


def training_files(recipe: Recipe) -> TextFiles | None:
    """Return the training files of a recipe; None for the toy corpus, which is generated."""
    if recipe.toy is not None:
        return None
    files = corpus_files(recipe, "train")
    here = [file for file in files if file.is_file()]
    missing = [str(file) for file in files if file not in set(here)]
    return TextFiles(len(files), sum(file.stat().st_size for file in here), missing)


class BackTranslationUpdates:
    """Updates of back-translation on random sentences of maximum length, with translations of the same length."""

    def __init__(self, objective: BackTranslation, backbone: Backbone, vocab: Vocab, languages: list[str]) -> None:
        self._objective = objective.model_copy(update={"max_ratio": 1.0, "max_extra": 0})
        prepared = self._objective.prepare(Resources(vocab, backbone.traits, languages=tuple(languages)))
        end = vocab.begin  # in place of the end token, so that no translation ends early
        self._prepared = replace(
            prepared,
            roles=np.array([vocab.begin, end, vocab.pad, vocab.size], np.int64),
            banned_ids=np.setdiff1d(vocab.special_ids, [end]),
        )
        several = (name for name in languages if set(prepared.intermediate_languages) - {name})
        self._language = next(several, languages[0])  # the batch raises an error if there is no other
        self._length = min(objective.max_length, backbone.traits.max_length or objective.max_length) - 2
        self._backbone = backbone

    @property
    def row(self) -> int:
        """Tokens of a pair, both sides."""
        return 2 * (self._length + 2)

    def loss(self, rows: int, device: torch.device) -> Callable[[], torch.Tensor]:
        """Return a function that computes the loss of a batch."""
        rng = np.random.default_rng(0)
        flat = rng.choice(self._prepared.vocab.regular_ids, rows * self._length).astype(np.int32)
        ids = Ragged.from_lengths(flat, [self._length] * rows)
        sentences = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), self._language)
        batch = self._objective.batch(sentences, self._prepared, 0, rng).to(device)
        heads = self._objective.modules(self._backbone)
        return lambda: self._objective.loss(self._backbone, heads, batch)[self._objective.term].total


def shares(recipe: Recipe) -> Iterator[tuple[BackTranslation, float]]:
    """Yield back-translation objectives, and their share of all updates that generate translations."""
    steps = np.linspace(1, recipe.train.steps, 200).round().astype(int).tolist()
    weights = {
        name: np.array([value_at(entry.weight, step) for step in steps]) for name, entry in recipe.objectives.items()
    }
    if recipe.train.alternate:
        weights = {name: (each > 0).astype(float) for name, each in weights.items()}
    total = np.maximum(sum(weights.values()), 1e-12)
    for name, each in weights.items():
        objective = recipe.objective(name)
        if isinstance(objective, BackTranslation):
            yield objective, float((each / total).mean())
