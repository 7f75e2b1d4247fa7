"""interlace: pre-train, align and evaluate cross-lingual language models.

    import interlace as il

    pairs = il.Pairs.from_files("train.en", "train.de")
    il.lexicon(il.align(pairs), mutual=True).write("en-de.tsv")

The functions are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from interlace.core import VERSION
from interlace.core.errors import dependency_errors

if TYPE_CHECKING:
    from interlace.aligners import load_aligner
    from interlace.api.alignment import ParallelText as Pairs
    from interlace.api.alignment import align, lexicon, phrases, project
    from interlace.api.runs import encode, evaluate, pretrain

__version__ = VERSION

_HOMES = {
    "Pairs": ("interlace.api.alignment", "ParallelText"),
    "load_aligner": ("interlace.aligners", "load_aligner"),
    **{
        name: ("interlace.api.alignment", name)
        for name in ("align", "lexicon", "phrases", "project")
    },
    **{name: ("interlace.api.runs", name) for name in ("encode", "evaluate", "pretrain")},
}
__all__ = [
    "Pairs",
    "align",
    "encode",
    "evaluate",
    "lexicon",
    "load_aligner",
    "phrases",
]
__all__ += ["pretrain", "project"]


def __getattr__(name: str) -> Any:
    if name == "report":  # a package, which can be called
        return import_module("interlace.report")
    if name not in _HOMES:
        raise AttributeError(f"module 'interlace' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    with dependency_errors():
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "report"])
