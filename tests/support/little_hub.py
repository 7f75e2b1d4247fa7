"""Data sets laid out as the hub lays them out, in a folder in place of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def take_apart(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Give `datasets` a cache of its own, and no network."""
    import datasets
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)


def publish_split(root: Path, name: str, rows: list[Any], features: dict[str, Any]) -> str:
    """Write OWNER/NAME/CONFIGURATION/SPLIT, the only split of its configuration; return its address."""
    from datasets import Dataset, Features

    repository, configuration, split = name.rsplit("/", 2)
    folder = root / repository
    (folder / configuration).mkdir(parents=True)
    dataset = Dataset.from_list(rows, features=Features(features))
    dataset.to_parquet(folder / configuration / f"{split}.parquet")
    lines = ["---", "configs:"]
    for file in sorted(folder.rglob("*.parquet")):
        lines += [f"- config_name: {file.parent.name}", "  data_files:"]
        lines += [f"  - split: {file.stem}", f"    path: {file.parent.name}/{file.name}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    return f"hub:{root}/{name}"
