"""What the model saw: corrupted input with the right answers under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.report import Section
from interlace.report._format import language_name
from interlace.report._run import first_of_each
from interlace.report._templates import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report._parts import Sample, SampleRow
    from interlace.report._run import Run

_CORPORA, _ROWS, _LONGEST = 3, 1, 80  # shown: corpora an objective, rows a corpus, tokens a row
_MASKS = {"<mask>", "[MASK]", "<special1>"}
_CLOSING = {"</s>", "[SEP]", "<eos>", "[EOS]"}
_SPECIALS = _CLOSING | {"<s>", "<bos>", "<pad>", "<unk>", "[BOS]", "[CLS]", "[PAD]", "[UNK]"}
# What a subword begins with where a word begins: Unigram, byte-level BPE.
_STARTS = ("\N{LOWER ONE EIGHTH BLOCK}", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}")


def samples(runs: Sequence[Run]) -> Section:
    """The section: a few rows an objective, from the first run that trained with it."""
    objectives: dict[str, list[Sample]] = {}
    for run in first_of_each(runs):
        fresh = {sample.objective for sample in run.samples} - set(objectives)
        for sample in run.samples:
            if sample.objective in fresh:
                objectives.setdefault(sample.objective, []).append(sample)
    shown = [
        {"objective": name, "samples": [_sample(part) for part in parts[:_CORPORA]]}
        for name, parts in objectives.items()
    ]
    lead = (
        "Rows as they entered training. Marked subwords were masked or replaced;"
        " beneath each predicted one stands what is right there, and with clm what comes next."
        if shown
        else "No sample of the training input was saved with these runs."
    )
    return Section("What the model saw", lead, render("samples", objectives=shown))


def _sample(sample: Sample) -> dict[str, object]:
    corpus = sample.corpus.rpartition(":")[2]
    codes = corpus.split("-") if corpus.count("-") == 1 else [corpus]
    rows = [_sides(row, codes) for row in sample.rows[:_ROWS]]
    clipped = any(len(row.tokens) > _LONGEST for row in sample.rows[:_ROWS])
    return {"corpus": language_name(sample.corpus), "rows": rows, "clipped": clipped}


def _sides(row: SampleRow, codes: list[str]) -> list[dict[str, object]]:
    """The row cut where the side changes; each part with its language where the corpus tells it."""
    marks = _marks(row, len(codes) == 2)
    two = len(set(marks)) > 1
    starts = [index for index in range(len(marks)) if index == 0 or marks[index] != marks[index - 1]]
    tokens = _tokens(row)
    parts = []
    for start, end in zip(starts, [*starts[1:], len(marks)], strict=True):
        side = marks[start]
        code = codes[side] if 0 <= side < len(codes) and (two or len(codes) == 1) else ""
        tokens_here = tokens[start : min(end, _LONGEST)]
        parts.append({"side": side if two else 0, "language": code, "name": language_name(code), "tokens": tokens_here})
    return [part for part in parts if part["tokens"]]


def _marks(row: SampleRow, pair: bool) -> list[int]:
    """The side of each token: as recorded, else, for a pair the model is not told of, cut at the first closing sign."""
    if len(set(row.sides)) > 1:
        return row.sides
    ends = [index for index, token in enumerate(row.tokens) if token in _CLOSING]
    if not pair or not ends:
        return [0] * len(row.tokens)
    first = next((end for end in ends if end + 1 not in ends), ends[-1])  # two in a row close one side (RoBERTa)
    return [int(index > first) for index in range(len(row.tokens))]


def _tokens(row: SampleRow) -> list[dict[str, object]]:
    right: dict[int, list[str]] = {}
    for position, target in zip(row.at, row.targets, strict=True):
        right.setdefault(position, []).append(target)
    changed = set(row.changed)
    return [
        {
            "text": _bare(token),
            "joined": index > 0 and row.tokens[index - 1] not in _SPECIALS and _continues(token, row.tokens),
            "kind": _kind(token, index in changed),
            "targets": [_bare(target) for target in right.get(index, [])],
        }
        for index, token in enumerate(row.tokens)
    ]


def _kind(token: str, changed: bool) -> str:
    if token in _MASKS:
        return "mask"
    return "special" if token in _SPECIALS else "changed" if changed else "plain"


def _bare(token: str) -> str:
    """The subword without the sign that says whether it begins a word."""
    if token.startswith("##") and len(token) > 2:
        return token[2:]
    return token[1:] if token[:1] in _STARTS and len(token) > 1 else token


def _continues(token: str, tokens: list[str]) -> bool:
    """Whether the subword continues the word before it, by the signs its tokenizer uses; False where it has none."""
    if token in _MASKS or token in _SPECIALS:
        return False
    if any(other[:1] in _STARTS for other in tokens):
        return token[:1] not in _STARTS
    return token.startswith("##")
