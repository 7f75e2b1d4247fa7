"""Training input: examples as the model reads them, and word alignments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.report.matrices import alignment_matrix
from interlace.report.runs import first_of_each
from interlace.report.sections import Section, figure_section
from interlace.report.text import language_name, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report.runs import AlignmentMatrix, Run, Sample, SampleRow

_MAX_CORPORA, _MAX_TOKENS, _MAX_MATRICES = 3, 80, 6
_MASKS = {"<mask>", "[MASK]", "<special1>"}
_CLOSING = {"</s>", "[SEP]", "<eos>", "[EOS]"}
_SPECIALS = _CLOSING | {"<s>", "<bos>", "<pad>", "<unk>", "[BOS]", "[CLS]", "[PAD]", "[UNK]"}
# First character of a token at the start of a word: Unigram, byte-level BPE.
_STARTS = ("\N{LOWER ONE EIGHTH BLOCK}", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}")
_LEAD = "Training input. Marked tokens are masked or replaced; targets are below the predicted tokens."


def inputs(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Training examples` and `Word alignments`."""
    return [_samples(runs), _alignments(runs)]


def _samples(runs: Sequence[Run]) -> Section:
    """Return an example a corpus for each objective, from the first run with that objective."""
    objectives: dict[str, list[Sample]] = {}
    for run in first_of_each(runs):
        new = {sample.objective for sample in run.samples} - set(objectives)
        for sample in run.samples:
            if sample.objective in new:
                objectives.setdefault(sample.objective, []).append(sample)
    if not objectives:
        return Section("Training examples", "No training examples were saved with these runs.")
    shown = {name: [_sample(part) for part in parts[:_MAX_CORPORA] if part.rows] for name, parts in objectives.items()}
    return Section("Training examples", _LEAD, render("samples", objectives=shown))


def _sample(sample: Sample) -> dict[str, Any]:
    """Return the first example of a corpus, in parts of one side each; text that mixes languages is a single part."""
    corpus = sample.corpus.rpartition(":")[2]
    codes = corpus.split("-") if corpus.count("-") == 1 else [corpus]
    row = sample.rows[0]
    tokens = _tokens(row)
    marks = _sides(row, len(codes) == 2)
    starts = [index for index in range(len(marks)) if index == 0 or marks[index] != marks[index - 1]]
    inline = len(starts) > 2  # code-switched: sides alternate within the sentence
    parts = []
    for start, end in zip(
        [0] if inline else starts, [len(marks)] if inline else [*starts[1:], len(marks)], strict=True
    ):
        side = marks[start]
        known = not inline and 0 <= side < len(codes) and (len(starts) > 1 or len(codes) == 1)
        code = codes[side] if known else ""
        kept = tokens[start : min(end, _MAX_TOKENS)]
        if kept:
            second = 0 if inline or len(starts) == 1 else side
            parts.append({"side": second, "language": code, "name": language_name(code), "tokens": kept})
    if inline:
        for token, side in zip(tokens, marks, strict=True):
            token["side"] = side
    return {"corpus": language_name(sample.corpus), "parts": parts, "clipped": len(tokens) > _MAX_TOKENS}


def _sides(row: SampleRow, pair: bool) -> list[int]:
    """Return the side of each token: as recorded, or of a pair cut behind the first closing token."""
    if len(set(row.sides)) > 1:
        return row.sides
    ends = [index for index, token in enumerate(row.tokens) if token in _CLOSING]
    if not pair or not ends:
        return [0] * len(row.tokens)
    first = next((end for end in ends if end + 1 not in ends), ends[-1])  # RoBERTa closes a side with two tokens
    return [int(index > first) for index in range(len(row.tokens))]


def _tokens(row: SampleRow) -> list[dict[str, Any]]:
    targets: dict[int, list[str]] = {}
    for place, target in zip(row.at, row.targets, strict=True):
        targets.setdefault(place, []).append(target)
    changed = set(row.changed)
    return [
        {
            "text": _bare(token),
            "joined": index > 0 and row.tokens[index - 1] not in _SPECIALS and _continues(token, row.tokens),
            "kind": _kind(token, index in changed),
            "side": 0,
            "targets": [_bare(target) for target in targets.get(index, [])],
        }
        for index, token in enumerate(row.tokens)
    ]


def _kind(token: str, changed: bool) -> str:
    if token in _MASKS:
        return "mask"
    return "special" if token in _SPECIALS else "changed" if changed else "plain"


def _bare(token: str) -> str:
    """Return the token without its word-boundary character."""
    if token.startswith("##") and len(token) > 2:
        return token[2:]
    return token[1:] if token[:1] in _STARTS and len(token) > 1 else token


def _continues(token: str, tokens: list[str]) -> bool:
    """Return whether a token continues the word before it, by the conventions of its tokenizer."""
    if token in _MASKS or token in _SPECIALS:
        return False
    if any(other[:1] in _STARTS for other in tokens):
        return token[:1] not in _STARTS
    return token.startswith("##")


def _alignments(runs: Sequence[Run]) -> Section:
    """Return matrices of each corpus in turn, from the first run that aligned it."""
    corpora: dict[str, list[AlignmentMatrix]] = {}
    for run in first_of_each(runs):
        new = {matrix.corpus for matrix in run.alignments} - set(corpora)
        for matrix in run.alignments:
            if matrix.corpus in new:
                corpora.setdefault(matrix.corpus, []).append(matrix)
    ranked = [(rank, corpus, matrix) for corpus, found in corpora.items() for rank, matrix in enumerate(found)]
    ranked = sorted(ranked, key=lambda entry: entry[0])[:_MAX_MATRICES]
    figures = [(language_name(corpus), alignment_matrix(matrix)) for _, corpus, matrix in ranked]
    lead = "Sentence pairs of the training text with the word alignments that objectives read."
    return figure_section("Word alignments", lead, figures)
