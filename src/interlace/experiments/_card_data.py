"""What a run was trained on, for its records and its model card: files by name and hash, sizes, what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.data.cache import content_key
from interlace.data.parallel import ParallelCorpus
from interlace.experiments._align import AlignSettings
from interlace.experiments.linking import needs

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.experiments import CorpusGroup, Recipe
    from interlace.experiments.prepare import AnyCorpus, Materials

DIGEST = "BLAKE2b, 128 bit"


def data_of(recipe: Recipe, materials: Materials) -> list[dict[str, Any]]:
    """A row a corpus and split: its files without the folders they stand in, its rows and subwords, who linked it."""
    rows = []
    for name, group in recipe.corpora.items():
        for corpus, key in zip([*group.languages, *group.pairs], materials.groups[name], strict=True):
            for split, built in (("train", materials.train), ("dev", materials.dev)):
                if key in built:
                    row = _row(recipe, group, corpus, split, built[key], materials.root)
                    if split == "train" and isinstance(built[key], ParallelCorpus) and needs(recipe, name, key):
                        row["aligner"] = (recipe.align or AlignSettings()).name
                    rows.append({"corpus": key, "group": name, **row})
    return rows


def _row(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, built: AnyCorpus, root: Path) -> dict[str, Any]:
    paths = [] if recipe.toy is not None else group.files(split, corpus, root)
    notes = {"empty": built.meta.get("skipped", 0), **(built.meta.get("notes") or {})}
    return {
        "split": split,
        "languages": corpus.split("-"),
        "rows": len(built),
        "subwords": sum(built.counts["subwords"].values()),
        "left_out": {what: count for what, count in notes.items() if count},
        "files": [{"name": path.name, "bytes": path.stat().st_size, "digest": content_key(path)} for path in paths],
    }
