"""Export of finished runs: the model as a Hugging Face checkpoint, or the mean of the last checkpoints as a run.

Vaswani et al. (2017, section 6.1) evaluate the mean of the last 5 checkpoints of a translation model, 20 of a
big one.
Heads of objectives are dropped. An averaged run keeps the recipe and the dictionaries, so that `translate` and
`evaluate` accept it.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from interlace.core.errors import CheckpointError, DataError, RunError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.data.vocab import Vocab
from interlace.experiments.card import write_card
from interlace.experiments.model_metadata import save_model
from interlace.experiments.recipe import Recipe
from interlace.tasks.common.dictionaries import DICTIONARIES
from interlace.training.run_folder import RECIPE, RUN, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch import Tensor, nn

log = logging.getLogger(__name__)
AVERAGED = "averaged.json"
_PREFIX = "backbone."  # of the model's weights in a checkpoint; others are heads


def export_model(run: Path, into: Path) -> Path:
    """Copy the model of a finished run to a folder; replace a model that is already there.

    Raises:
        DataError: there is no run, or `into` holds other files. RunError: the run is not finished.
    """
    must_be_replaceable(into, "config.json", "model")
    _finished(run)
    with atomic_folder(into) as partial:
        shutil.copytree(run / "model", partial, dirs_exist_ok=True)
    return into


def average_checkpoints(run: Path, into: Path, last: int = 5) -> Path:
    """Write the mean of the last checkpoints of a finished run as another finished run.

    Memory holds the model and one weight at a time. `averaged.json` records the run and the steps. The recipe gets
    another name, so that reports show both runs.

    Args:
        run: the run's folder.
        into: the new run's folder; replaces an averaged run that is already there.
        last: number of checkpoints.

    Raises:
        DataError: there is no run, or `into` holds other files. RunError: the run is not finished.
        SettingsError: it has fewer checkpoints, or no model. CheckpointError: one is damaged or of another model.
    """
    must_be_replaceable(into, AVERAGED, "averaged run")
    recipe, files, steps = _last_checkpoints(run, last)
    import torch

    from interlace.models.build import load

    vocab = Vocab.load(run / "model")
    backbone = load(run / "model")
    with torch.no_grad():
        _load_mean(backbone, files)
    with atomic_folder(into) as partial:
        save_model(backbone, vocab, recipe, partial / "model")
        _write_records(run, partial, recipe, steps)
        write_json(partial / AVERAGED, {"run": recipe.name, "folder": run.name, "steps": steps})
    return into


def _write_records(run: Path, into: Path, recipe: Recipe, steps: list[int]) -> None:
    """Write the recipe, the record of training, the dictionaries and the card."""
    note = f"Mean of the checkpoints of steps {', '.join(f'{step:,}' for step in steps)}."
    about = " ".join(part for part in (recipe.about, note) if part)
    write_json(into / RECIPE, {**recipe.dump(), "name": f"{recipe.name}-mean-of-{len(steps)}", "about": about})
    if (run / DICTIONARIES).is_dir():
        shutil.copytree(run / DICTIONARIES, into / DICTIONARIES)
    write_json(into / RUN, {**(read_json(run / RUN) or {}), "averaged": steps})
    write_card(into)


def _last_checkpoints(run: Path, last: int) -> tuple[Recipe, list[Path], list[int]]:
    """Return the run's recipe, and the weight files and steps of its last checkpoints."""
    from interlace.training import checkpoint

    recipe, folder = _finished(run), run / "checkpoints"
    steps = checkpoint.steps_in(folder)
    if not steps:
        raise SettingsError(f"{run}: has no checkpoints to average")
    best, apart = _best(recipe, checkpoint.path_of(folder, steps[-1]) / checkpoint.STATE), ""
    if len(steps) > recipe.train.keep and steps[0] == best:
        steps, apart = steps[1:], f" and the best one, step {best}, after which checkpoints are missing"
    if not 1 <= last <= len(steps):
        there, what = ", ".join(map(str, steps)), "1 checkpoint" if len(steps) == 1 else f"{len(steps)} checkpoints"
        raise SettingsError(
            f"--average {last}: {run} has {what} (steps {there}){apart}; train with --set train.keep={last} "
            f"for more, or use --average {len(steps)}"
        )
    chosen = steps[-last:]
    if best and best < chosen[0]:
        _warn_later(run, best, chosen, len(steps) - steps.index(best) if best in steps else None)
    return recipe, [checkpoint.weights_of(checkpoint.path_of(folder, step)) for step in chosen], chosen


def _finished(run: Path) -> Recipe:
    """Return the recipe of a finished run of a model."""
    found = read_json(run / RECIPE)
    if found is None:
        what = "not a run" if run.exists() else "no such folder"
        raise DataError(f"{run}: {what}; expected the folder of a finished run")
    if not (read_json(run / RUN) or {}).get("finished"):
        raise RunError(f"{run}: this run is not finished; resume it with `interlace pretrain`")
    recipe = Recipe.read(found, str(run / RECIPE))
    if recipe.embeddings:
        raise SettingsError(f"{run}: holds word vectors, not a model")
    return recipe


def _best(recipe: Recipe, state: Path) -> int | None:
    """Return the step of the best weights; None without early stopping."""
    evaluation = (read_json(state) or {}).get("evaluation") or {}
    return evaluation.get("best_step") or None if recipe.train.patience else None


def _warn_later(run: Path, best: int, chosen: list[int], last: int | None) -> None:
    """Warn that all averaged checkpoints follow the best step; averaging `last` of them would include it."""
    later = ", ".join(f"{step:,}" for step in chosen)
    cure = "" if last is None else f"; --average {last} includes it"
    message = "%s: early stopping chose step %s; all averaged checkpoints are later: %s%s"
    log.warning(message, run, f"{best:,}", later, cure)


def _load_mean(backbone: nn.Module, files: Sequence[Path]) -> None:
    """Load the mean over files into every parameter and persistent buffer; integers are those of the last file."""
    from safetensors import safe_open

    with ExitStack() as stack:
        opened: list[Any] = [stack.enter_context(safe_open(file, "pt")) for file in files]
        known = [set(file.keys()) for file in opened]
        for name, tensor in _weights(backbone):
            stored = _PREFIX + name
            for file, names in zip(files, known, strict=True):
                if stored not in names:
                    raise CheckpointError(f"{file}: of another model: {name} is missing")
            tensor.copy_(_mean([file.get_tensor(stored) for file in opened], tensor, f"{files[-1]}: {name}"))


def _weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters and persistent buffers by name, shared tensors once, as in checkpoints."""
    yield from model.named_parameters()
    kept = set(model.state_dict())
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def _mean(found: Sequence[Tensor], like: Tensor, where: str) -> Tensor:
    import torch

    if any(tensor.shape != like.shape for tensor in found):
        raise CheckpointError(f"{where}: has shape {tuple(found[-1].shape)}, expected {tuple(like.shape)}")
    if not like.is_floating_point():
        return found[-1]
    total = torch.zeros_like(like, dtype=torch.float64)
    for tensor in found:
        total += tensor
    return total / len(found)
