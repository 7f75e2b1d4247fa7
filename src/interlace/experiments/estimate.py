"""What a recipe will cost, before anything is prepared or trained: subwords, memory and hours on this machine.

Time is measured, not looked up: a few updates of the recipe's own model on random subwords; of back-translation, which
writes what it reads first, an update of its own. Memory is counted: weights, gradients, Adam's two moments, and what
autograd keeps of a batch. Not in it: heads of objectives and further passes of others (see docs/results.md), evaluation
on the way, fine-tuning, and building the data.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.errors import DataError, InterlaceError, SettingsError
from interlace.core.files import must_exist
from interlace.core.ragged import Ragged
from interlace.core.schedules import value_at, values_of
from interlace.data import Sentences
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.experiments.deriving import derived_problems
from interlace.experiments.recipe import tokenizer_of
from interlace.models.build import build_model
from interlace.models.token_embeddings import read_vectors
from interlace.objectives import Resources
from interlace.objectives.back_translation import BackTranslation
from interlace.objectives.common.seq2seq import Seq2SeqObjective
from interlace.training.device import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch

    from interlace.experiments.recipe import Recipe
    from interlace.models.backbone import Backbone
    from interlace.models.settings import ModelSettings
    from interlace.objectives import Objective

_SECONDS = 2.0  # of measuring, after a first update
_WEIGHTS = 16  # bytes a parameter in float32: itself, its gradient, two moments


@dataclass(frozen=True)
class Cost:
    """What was found out about the model.

    parameters: all of them, and those of the embedding table. decoder: those that a decoder does not share with its
    encoder; none where nothing is written. speed: subwords a second on one process, padding included. memory: bytes on
    one process. hours: of the updates alone. translating: the share of them in which back-translation writes what it
    then reads.
    """

    parameters: int
    table: int
    decoder: int
    device: str
    speed: float
    memory: int
    hours: float
    translating: float = 0.0


# FROM _estimate_text:
# The files of training text that an estimate counts.


@dataclass(frozen=True)
class Text:
    """Files of training text: how many, bytes of those that are there, and the paths of the others."""

    files: int
    bytes: int
    missing: list[str]

    @property
    def told(self) -> str:
        """How many are missing, and of the first the nearest that is there."""
        try:
            why = str(must_exist(self.missing[0]))  # it has come meanwhile
        except DataError as error:
            why = str(error)
        return f"{len(self.missing)} of {self.files} files are not there: {why}"


@dataclass(frozen=True)
class Estimate:
    """Subwords are those of one process, padding included; without a cost `notes` say why."""

    recipe: str
    steps: int
    subwords_a_step: int
    subwords: int
    text: Text | None
    cost: Cost | None
    notes: list[str]

    def dump(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def estimate(recipe: Recipe) -> Estimate:
    """Look at the files, build the model and time it. Takes seconds, or a minute for models of billions.

    Raises:
        SettingsError: the recipe trains nothing, or word vectors, or describes a model that cannot be.
    """
    recipe.must_train()
    train, notes = recipe.train, []
    a_step = train.tokens_per_batch * train.micro_batches
    try:
        cost = _cost(recipe, a_step * train.steps)
    except SettingsError:
        raise  # the run would be refused too; what is not there yet may come
    except InterlaceError as error:
        cost = None
        notes.append(f"the model cannot be measured: {error}")
    text = training_files(recipe)
    if text is not None and text.missing:
        notes.append(text.told)
    notes += derived_problems(recipe)
    return Estimate(recipe.name, train.steps, a_step, a_step * train.steps, text, cost, notes)


def _cost(recipe: Recipe, subwords: int) -> Cost:
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if recipe.train.threads:
        torch.set_num_threads(recipe.train.threads)
    vocab, model = _vocab(recipe), _model(recipe)
    backbone = build_model(model, vocab, recipe.languages, recipe.seed, causal=recipe.causal, seq2seq=recipe.seq2seq)
    trial = _Trial(recipe, backbone.to(device).train(), vocab.size, device)
    rate, kept = trial.run()
    written = sum(
        share * max(trial.seconds(Translating(objective, backbone, vocab, recipe.languages)) - 1 / rate, 0.0)
        for objective, share in shares(recipe)
    )  # seconds a subword
    speed = 1 / (1 / rate + written)
    parameters = sum(parameter.numel() for parameter in backbone.parameters())
    return Cost(
        parameters=parameters,
        table=backbone.input_embeddings.numel(),
        decoder=parameters - sum(parameter.numel() for parameter in backbone.model.parameters()),
        device=_named(device),
        speed=speed,
        memory=round(parameters * _WEIGHTS + kept * recipe.train.tokens_per_batch),
        hours=subwords / speed / 3600,
        translating=written * speed,
    )


def _named(device: torch.device) -> str:
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} CPU threads"


def _vocab(recipe: Recipe) -> Vocab:
    """The tokenizer that exists, or one of as many words as subwords are to be learnt."""
    if start := tokenizer_of(recipe):
        vocab = Vocab.load(start)
    else:
        words = (f"w{number}" for number in range(recipe.vocab.size - len(ROLES)))
        vocab = Vocab(word_level_tokenizer(words), ROLES, {}, "of as many words")
    return vocab.with_target_languages(recipe.languages) if recipe.seq2seq else vocab


def _model(recipe: Recipe) -> ModelSettings:
    """The model; vectors of subwords that are yet to be learnt are only looked at."""
    if recipe.model.vectors is None or tokenizer_of(recipe):
        return recipe.model
    read_vectors(recipe.model)
    return recipe.model.model_copy(update={"vectors": None})


class _Trial:
    """Updates of the recipe's model on random subwords, in rows as long as its objectives allow.

    A translation model reads rows and writes such as its objectives ask for, all of which it predicts; both sides
    count.
    """

    def __init__(self, recipe: Recipe, backbone: Backbone, vocab: int, device: torch.device) -> None:
        objectives = [recipe.objective(name) for name in recipe.objectives]
        longest = max(objective.max_length for objective in objectives)
        self._length = min(longest, backbone.traits.max_length or longest)
        self._predicted = 1.0 if recipe.seq2seq else max(_predicted(objective) for objective in objectives)
        self._written = max(map(self._writes, objectives)) if recipe.seq2seq else 0
        self._row = self._length + self._written
        self._most = max(recipe.train.tokens_per_batch // self._row, 1)
        self._backbone, self._vocab, self._device = backbone, vocab, device
        self._optimiser = recipe.train.optimizer.build(backbone)
        self._bf16 = resolved(recipe.train.precision) == "bf16"

    def run(self) -> tuple[float, float]:
        """Subwords a second, and bytes that autograd keeps for one of them."""
        import torch

        self._update(1)  # kernels are chosen and memory is taken
        kept = _Kept(self._backbone)
        with torch.autograd.graph.saved_tensors_hooks(kept.see, lambda tensor: tensor):
            one = self._update(1)
        rows = max(min(int(_SECONDS / 4 / one), self._most), 1)
        if rows > 1:
            self._update(rows)
        times: list[float] = []
        while not times or sum(times) < _SECONDS:
            times.append(self._update(rows))
        self._rows = rows
        return rows * self._row / sorted(times)[len(times) // 2], kept.bytes / self._row

    def seconds(self, translating: Translating) -> float:
        """Of an update that translates first, by subword, in batches of as many rows as `run` took."""
        self._timed(translating.loss(1, self._device))
        return self._timed(translating.loss(self._rows, self._device)) / (self._rows * translating.row)

    def _writes(self, objective: Objective) -> int:
        """Subwords that an objective writes of a row; one that only reads writes none."""
        if not isinstance(objective, Seq2SeqObjective):
            return 0
        return int(objective.decoder_lengths(np.array([self._length]))[0])

    def _update(self, rows: int) -> float:
        """Seconds of one update on random subwords."""
        import torch
        from torch.nn.functional import cross_entropy

        ids = torch.randint(self._vocab, (rows, self._length), device=self._device)
        asked = rows * (self._written or self._length)
        at = torch.randint(asked, (max(round(asked * self._predicted), 1),), device=self._device)

        def loss() -> torch.Tensor:
            states = self._backbone.encode({"input_ids": ids})
            if self._written:
                model: Any = self._backbone
                states = model.decode(states, None, {"input_ids": ids[:, : self._written]})
            logits = self._backbone.logits(states.flatten(0, 1)[at])
            return cross_entropy(logits, ids.flatten()[at])

        return self._timed(loss)

    def _timed(self, loss: Callable[[], torch.Tensor]) -> float:
        """Seconds of one update by a loss."""
        import torch

        start = self._now()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16):
            total: Any = loss()
        total.backward()
        self._optimiser.step()
        self._optimiser.zero_grad()
        return self._now() - start

    def _now(self) -> float:
        import torch

        if self._device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


class _Kept:
    """Counts the bytes of tensors that autograd keeps for the way back, each once, weights left out."""

    def __init__(self, backbone: Backbone) -> None:
        self._seen = {parameter.untyped_storage().data_ptr() for parameter in backbone.parameters()}
        self._held: list[torch.Tensor] = []  # or an address could be given twice
        self.bytes = 0

    def see(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self._held.append(tensor)
            self.bytes += storage.nbytes()
        return tensor


def _predicted(objective: Any) -> float:
    """The greatest share of its subwords that an objective predicts."""
    masking = getattr(objective, "masking", None)
    return 1.0 if masking is None else max(values_of(str(masking.rate)))


def training_files(recipe: Recipe) -> Text | None:
    """The files that a recipe trains on; None for the toy corpus, which is written when it is wanted."""
    if recipe.toy is not None:
        return None
    root = Path(os.path.expandvars(recipe.data_root or ".")).expanduser()
    made = recipe.derived  # of other files, which are counted
    named = [
        file
        for group in recipe.corpora.values()
        for corpus in (*group.languages, *group.pairs)
        if not made.keys() & set(corpus.split("-"))
        for file in group.files("train", corpus, root)
    ]
    files = list(dict.fromkeys(named))
    here = [file for file in files if file.is_file()]
    return Text(len(files), sum(file.stat().st_size for file in here), [str(f) for f in files if f not in set(here)])


# FROM _estimate_back_translation:
# What back-translation adds to the cost of a run: its own updates, the translations that they make first included.


_LOOKS = 200  # steps at which weights are looked at


class Translating:
    """Updates of an objective that translates first, on random sentences of its longest rows.

    Translations are as long as the sentences: a model that has not learnt to translate ends anywhere.
    """

    def __init__(self, objective: BackTranslation, backbone: Backbone, vocab: Vocab, languages: list[str]) -> None:
        self._objective = objective.model_copy(update={"reuse": 1, "max_ratio": 1.0, "max_extra": 0})
        prepared = self._objective.prepare(Resources(vocab, backbone.traits, languages=tuple(languages)))
        end = vocab.begin  # stands for the end, which a model may say at once; this it says only where it must
        self._prepared = replace(
            prepared,
            roles=np.array([vocab.begin, end, vocab.pad, vocab.size], np.int64),
            banned_ids=np.setdiff1d(vocab.special_ids, [end]),
        )
        several = (name for name in languages if set(prepared.intermediate_languages) - {name})
        self._language = next(several, languages[0])  # of which making a batch says that there is no other
        self._length = min(objective.max_length, backbone.traits.max_length or objective.max_length) - 2
        self._backbone = backbone

    @property
    def row(self) -> int:
        """Subwords of a row, on both sides."""
        return 2 * (self._length + 2)

    def loss(self, rows: int, device: torch.device) -> Callable[[], torch.Tensor]:
        """What computes the loss of a batch of so many rows."""
        rng = np.random.default_rng(0)
        flat = rng.choice(self._prepared.vocab.regular_ids, rows * self._length).astype(np.int32)
        ids = Ragged.from_lengths(flat, [self._length] * rows)
        sentences = Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), self._language)
        batch = self._objective.batch(sentences, self._prepared, 0, rng).to(device)
        heads = self._objective.modules(self._backbone)
        return lambda: self._objective.loss(self._backbone, heads, batch)[self._objective.term].total


def shares(recipe: Recipe) -> Iterator[tuple[BackTranslation, float]]:
    """Each objective of the recipe that translates first, and the share of all updates for which it does."""
    steps = np.linspace(1, recipe.train.steps, _LOOKS).round().astype(int).tolist()
    weights = {
        name: np.array([value_at(entry.weight, step) for step in steps]) for name, entry in recipe.objectives.items()
    }
    if recipe.train.alternate:
        weights = {name: (each > 0).astype(float) for name, each in weights.items()}
    total = np.maximum(sum(weights.values()), 1e-12)
    for name, each in weights.items():
        objective = recipe.objective(name)
        if isinstance(objective, BackTranslation):
            yield objective, float((each / total).mean()) / objective.reuse
