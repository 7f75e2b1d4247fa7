"""Examples: training examples as the model reads them, and word alignments."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from interlace.report.figures.alignment_matrix import alignment_matrix
from interlace.report.runs import Run, Sample, SampleRow, first_of_each
from interlace.report.sections import Section, figure_section
from interlace.report.text import language_name, render

Item = TypeVar("Item")


def examples(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Training examples` and `Word alignments`."""
    corpora = _of_first_runs(runs, lambda run: run.alignments, lambda matrix: matrix.corpus)
    ranked = [(rank, corpus, matrix) for corpus, found in corpora.items() for rank, matrix in enumerate(found)]
    ranked = sorted(ranked, key=lambda entry: entry[0])[:6]
    figures = [(language_name(corpus), alignment_matrix(matrix)) for _, corpus, matrix in ranked]
    lead = "Sentence pairs of the training text with the word alignments that objectives read."
    return [*_samples(runs), *figure_section("Word alignments", lead, figures)]


def _of_first_runs(
    runs: Sequence[Run], items: Callable[[Run], Iterable[Item]], key: Callable[[Item], str]
) -> dict[str, list[Item]]:
    """Group the items of runs by key; all items of a key are from the first run that has it."""
    found: dict[str, list[Item]] = {}
    for run in first_of_each(runs):
        known = set(found)
        for item in items(run):
            if key(item) not in known:
                found.setdefault(key(item), []).append(item)
    return found


_MAX_TOKENS = 80
_MASKS = {"<mask>", "[MASK]", "<special1>"}
_CLOSING = {"</s>", "[SEP]", "<eos>", "[EOS]"}
_SPECIALS = _CLOSING | {"<s>", "<bos>", "<pad>", "<unk>", "[BOS]", "[CLS]", "[PAD]", "[UNK]"}
# First character of a token at the start of a word: Unigram, byte-level BPE.
_STARTS = ("\N{LOWER ONE EIGHTH BLOCK}", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}")


def _samples(runs: Sequence[Run]) -> list[Section]:
    """Return an example of up to three corpora for each objective, from the first run with that objective."""
    objectives = _of_first_runs(runs, lambda run: run.samples, lambda sample: sample.objective)
    if not objectives:
        return []
    shown = {name: [shown_sample(part) for part in parts[:3] if part.rows] for name, parts in objectives.items()}
    lead = "Training input. Marked tokens are masked or replaced; targets are below the predicted tokens."
    return [Section("Training examples", lead, render("samples", objectives=shown))]


def shown_sample(sample: Sample) -> dict[str, Any]:
    """Return the first example of a corpus, in parts of one side each; text that mixes languages is a single part."""
    corpus = sample.corpus.rpartition(":")[2]
    codes = corpus.split("-") if corpus.count("-") == 1 else [corpus]
    row = sample.rows[0]
    tokens, marks = _tokens(row), _sides(row, len(codes) == 2)
    starts = [index for index in range(len(marks)) if index == 0 or marks[index] != marks[index - 1]]
    inline = len(starts) > 2  # code-switched: sides alternate within the sentence
    if inline:
        starts = [0]
        for token, side in zip(tokens, marks, strict=True):
            token["side"] = side
    parts = []
    for start, end in zip(starts, [*starts[1:], len(marks)], strict=True):
        side = marks[start]
        known = not inline and 0 <= side < len(codes) and (len(starts) > 1 or len(codes) == 1)
        code = codes[side] if known else ""
        if kept := tokens[start : min(end, _MAX_TOKENS)]:
            second = side if len(starts) > 1 else 0
            parts.append({"side": second, "language": code, "name": language_name(code), "tokens": kept})
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
        targets.setdefault(place, []).append(_bare(target))
    marked = any(token[:1] in _STARTS for token in row.tokens)
    found: list[dict[str, Any]] = []
    for index, token in enumerate(row.tokens):
        continues = token[:1] not in _STARTS if marked else token.startswith("##")  # the word before it
        apart = index == 0 or token in _MASKS | _SPECIALS or row.tokens[index - 1] in _SPECIALS
        kind = "changed" if index in row.changed else "plain"
        kind = "mask" if token in _MASKS else "special" if token in _SPECIALS else kind
        about = {"text": _bare(token), "joined": continues and not apart, "kind": kind}
        found.append({**about, "side": 0, "targets": targets.get(index, [])})
    return found


def _bare(token: str) -> str:
    """Return the token without its word-boundary character."""
    if token.startswith("##") and len(token) > 2:
        return token[2:]
    return token[1:] if token[:1] in _STARTS and len(token) > 1 else token
