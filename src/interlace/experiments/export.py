"""Export finished runs: the model as a Hugging Face checkpoint, or the mean of the last checkpoints as a run.

Vaswani et al. (2017, section 6.1) evaluate the mean of the last 5 checkpoints of a translation model, 20 of a big one.
Heads of objectives are dropped, as in any exported model. An averaged run keeps the recipe and the dictionaries, so that
`translate` and `evaluate` accept it.
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
from interlace.experiments.model_metadata import export
from interlace.experiments.recipe import Recipe
from interlace.tasks.common.dictionaries import DICTIONARIES
from interlace.training.run_folder import RECIPE, RUN, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch import Tensor, nn

log = logging.getLogger(__name__)
AVERAGED = "averaged.json"
_OWN = "backbone."  # what the model's weights are called in a checkpoint, beside the heads


def export_model(run: Path, into: Path) -> Path:
    """Copy the model of a finished run to a folder; a model that is already there is replaced.

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

    Memory holds the model and one weight at a time. `averaged.json` in the folder names run and steps. The recipe gets
    another name, so that reports show both runs.

    Args:
        run: the run's folder.
        into: the new run's folder; an averaged run that is already there is replaced.
        last: number of checkpoints.

    Raises:
        DataError: there is no run, or `into` holds other things. RunError: it is not finished.
        SettingsError: it keeps fewer checkpoints, or learnt no model. CheckpointError: one is damaged, or another's.
    """
    must_be_replaceable(into, AVERAGED, "averaged run")
    recipe, files, steps = _chosen(run, last)
    import torch

    from interlace.models.build import load

    vocab = Vocab.load(run / "model")
    backbone = load(run / "model")
    with torch.no_grad():
        _fill(backbone, files)
    with atomic_folder(into) as partial:
        export(backbone, vocab, recipe, partial / "model")
        _take_along(run, partial, recipe, steps)
        write_json(partial / AVERAGED, {"run": recipe.name, "folder": run.name, "steps": steps})
    return into


def _take_along(run: Path, into: Path, recipe: Recipe, steps: list[int]) -> None:
    """What makes the folder a run: its recipe, the facts of its training and its dictionaries."""
    said = f"The mean of the checkpoints of steps {', '.join(f'{step:,}' for step in steps)}."
    about = " ".join(part for part in (recipe.about, said) if part)
    write_json(into / RECIPE, {**recipe.dump(), "name": f"{recipe.name}-mean-of-{len(steps)}", "about": about})
    if (run / DICTIONARIES).is_dir():
        shutil.copytree(run / DICTIONARIES, into / DICTIONARIES)
    write_json(into / RUN, {**(read_json(run / RUN) or {}), "averaged": steps})
    write_card(into)


def _chosen(run: Path, last: int) -> tuple[Recipe, list[Path], list[int]]:
    """The run's recipe, the files of weights of its last checkpoints, and their steps."""
    from interlace.training import checkpoint

    recipe, folder = _finished(run), run / "checkpoints"
    steps = checkpoint.steps_in(folder)
    if not steps:
        raise SettingsError(f"{run}: keeps no checkpoints, whose mean is asked for")
    best, apart = _best(recipe, checkpoint.path_of(folder, steps[-1]) / checkpoint.STATE), ""
    if len(steps) > recipe.train.keep and steps[0] == best:
        steps, apart = steps[1:], f" besides its best one, of step {best}, which others followed that are gone"
    if not 1 <= last <= len(steps):
        there, what = ", ".join(map(str, steps)), "1 checkpoint" if len(steps) == 1 else f"{len(steps)} checkpoints"
        raise SettingsError(
            f"--average {last}: {run} keeps {what} (steps {there}){apart}; train with --set train.keep={last} "
            f"for more, or say --average {len(steps)}"
        )
    chosen = steps[-last:]
    if best and best < chosen[0]:
        _tell_later(run, best, chosen, len(steps) - steps.index(best) if best in steps else None)
    return recipe, [checkpoint.weights_of(checkpoint.path_of(folder, step)) for step in chosen], chosen


def _finished(run: Path) -> Recipe:
    """The recipe of a finished run of a model."""
    found = read_json(run / RECIPE)
    if found is None:
        what = "no run folder" if run.exists() else "no such folder"
        raise DataError(f"{run}: {what}; checkpoints of a finished run are averaged")
    if not (read_json(run / RUN) or {}).get("finished"):
        raise RunError(f"{run}: this run is not finished; start it again with `interlace pretrain`")
    recipe = Recipe.read(found, str(run / RECIPE))
    if recipe.embeddings:
        raise SettingsError(f"{run}: word vectors, of which there are no checkpoints")
    return recipe


def _best(recipe: Recipe, state: Path) -> int | None:
    """The step whose weights early stopping made the run's model; none where it had no say."""
    evaluation = (read_json(state) or {}).get("evaluation") or {}
    return evaluation.get("best_step") or None if recipe.train.patience else None


def _tell_later(run: Path, best: int, chosen: list[int], last: int | None) -> None:
    """Say that all that is averaged came behind the best step; `last` would take that in."""
    later = ", ".join(f"{step:,}" for step in chosen)
    cure = "" if last is None else f"; --average {last} takes it in"
    message = "%s: by early stopping step %s is the best, and the run's model; those averaged came later: %s%s"
    log.warning(message, run, f"{best:,}", later, cure)


def _fill(backbone: nn.Module, files: Sequence[Path]) -> None:
    """Put the mean over files into every parameter and stored buffer; whole numbers are those of the last file."""
    from safetensors import safe_open

    with ExitStack() as stack:
        opened: list[Any] = [stack.enter_context(safe_open(file, "pt")) for file in files]
        known = [set(file.keys()) for file in opened]
        for name, tensor in _weights(backbone):
            stored = _OWN + name
            for file, names in zip(files, known, strict=True):
                if stored not in names:
                    raise CheckpointError(f"{file}: another model's: lacks {name}")
            tensor.copy_(_mean([file.get_tensor(stored) for file in opened], tensor, f"{files[-1]}: {name}"))


def _weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and stored buffers by name; one name where two share a tensor, as checkpoints have them."""
    yield from model.named_parameters()
    kept = set(model.state_dict())
    yield from ((name, buffer) for name, buffer in model.named_buffers() if name in kept)


def _mean(found: Sequence[Tensor], like: Tensor, where: str) -> Tensor:
    import torch

    if any(tensor.shape != like.shape for tensor in found):
        raise CheckpointError(f"{where}: has shape {tuple(found[-1].shape)}, the model wants {tuple(like.shape)}")
    if not like.is_floating_point():
        return found[-1]
    total = torch.zeros_like(like, dtype=torch.float64)
    for tensor in found:
        total += tensor
    return total / len(found)
