"""What the finished learning rates of a sweep came to, on disk until the rows of their fine-tuning are kept.

A folder a fine-tuning and seed: `state.json` with what each group found best, and `best.safetensors` with its weights
where groups keep weights. It is replaced as a whole after each learning rate but the last.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from interlace.text.lines import atomic_folder, remove_partials
from interlace.training.folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from interlace.training.selection import Group

_STATE, _BEST = "state.json", "best.safetensors"
_PARTS = ("best", "found")  # of a group, beside what it kept


def keep_sweep(folder: Path, groups: Sequence[Group], done: int, diverged: dict[float, str]) -> None:
    """Write what the first `done` learning rates came to; those that diverged, with the reason.

    Raises:
        DataError: the disk is full; what stood there is untouched.
    """
    from safetensors.torch import save_file

    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_partials(folder)
    told = [{name: getattr(group, name) for name in _PARTS} | {"items": group.items} for group in groups]
    rows = [group.kept if isinstance(group.kept, list) else None for group in groups]
    weights = {
        f"{number}.{name}": value.contiguous()
        for number, group in enumerate(groups)
        if isinstance(group.kept, dict)
        for name, value in group.kept.items()
    }
    with atomic_folder(folder) as partial:
        save_file(weights, partial / _BEST)
        write_json(partial / _STATE, {"done": done, "diverged": list(diverged.items()), "groups": told, "rows": rows})


def restore_sweep(folder: Path, groups: Sequence[Group]) -> tuple[int, dict[float, str]]:
    """Fill the groups; returns how many learning rates are done, and which of them diverged. None where nothing is.

    Raises:
        RunError: the file of what they found is damaged.
    """
    from safetensors.torch import load_file

    state = read_json(folder / _STATE)
    asked = [[list(item) for item in group.items] for group in groups]
    if state is None or [told["items"] for told in state["groups"]] != asked:
        return 0, {}
    weights = load_file(folder / _BEST)
    for number, (group, told, rows) in enumerate(zip(groups, state["groups"], state["rows"], strict=True)):
        for name in _PARTS:
            setattr(group, name, told[name])
        own = f"{number}."
        best = {name.removeprefix(own): value for name, value in weights.items() if name.startswith(own)}
        group.kept = rows or best or None
    return state["done"], dict(state["diverged"])


def forget_sweep(folder: Path) -> None:
    """Remove what was kept of a fine-tuning whose rows are kept, and folders that are empty then."""
    shutil.rmtree(folder, ignore_errors=True)
    for above in (folder.parent, folder.parent.parent):
        if above.is_dir() and not any(above.iterdir()):
            above.rmdir()


def forget_other_sweeps(folder: Path, keys: Collection[str]) -> None:
    """Remove what was kept in a task's folder under other keys than these, as nothing is going to go on from there."""
    for path in list(folder.glob("*")):
        if path.name.partition(".")[0] not in keys:
            forget_sweep(path)
