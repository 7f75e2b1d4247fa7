"""Patterns of files as people write them: tables made whole, and what is right for no task that learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlace.tasks._files import Named


def flat(files: Any) -> Any:
    """A table whose keys are whole again: TOML reads `train.en = ..` without quotes as a table in a table.

    Raises:
        ValueError: a key stands there both ways.
    """
    if not isinstance(files, dict):
        return files
    whole: dict[str, Any] = {}
    for key, value in files.items():
        inner = {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
        if twice := whole.keys() & inner.keys():
            message = f"{min(twice)!r} stands there twice"
            raise ValueError(message)
        whole |= inner
    return whole


def refuse_one_for_all(files: Named) -> None:
    """Refuse a pattern that names the same file whatever the split, where one split is learnt from and one scored.

    Raises:
        ValueError: there is such a pattern.
    """
    if isinstance(files, dict):
        return
    for pattern in [files] if isinstance(files, str) else files:
        if "{split}" not in pattern:
            message = f"files: {pattern!r} is the same file for train, dev and test; name the {{split}} in it, or give "
            raise ValueError(message + 'a table of patterns, such as {train = "a.tsv[200:]", test = "a.tsv[:200]", ..}')
