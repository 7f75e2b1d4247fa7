"""Examples: confusion matrices and wrong predictions, training examples as the model reads them, word alignments."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interlace.report.figures import Shade, alignment_matrix, heat_map
from interlace.report.runs import LanguagePredictions, PredictionFile, Run, Sample, SampleRow, first_of_each
from interlace.report.sections import Section, figure_section
from interlace.report.svg import Drawing, text_width
from interlace.report.text import language_name, language_names, number, percent, render, task_name

Item = TypeVar("Item")


def examples(runs: Sequence[Run]) -> list[Section]:
    """Return the sections `Confusion matrices`, `Training examples` and `Word alignments`."""
    corpora = _of_first_runs(runs, lambda run: run.alignments, lambda matrix: matrix.corpus)
    ranked = [(rank, corpus, matrix) for corpus, found in corpora.items() for rank, matrix in enumerate(found)]
    ranked = sorted(ranked, key=lambda entry: entry[0])[:6]
    figures = [(language_name(corpus), alignment_matrix(matrix)) for _, corpus, matrix in ranked]
    lead = "Sentence pairs of the training text with the word alignments that objectives read."
    return [*_predictions(runs), *_samples(runs), *figure_section("Word alignments", lead, figures)]


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


@dataclass(frozen=True)
class _TaskPredictions:
    """The predictions of one run for one task in one setting, of all fine-tunings."""

    name: str
    classes: list[str]
    by_language: dict[str, list[LanguagePredictions]]

    def counts(self, languages: Sequence[str]) -> NDArray[np.int64]:
        """(C, C + 1) counts of gold by predicted classes; the last column is for missing predictions."""
        total: NDArray[np.int64] = np.zeros((len(self.classes), len(self.classes) + 1), np.int64)
        for language in languages:
            for found in self.by_language[language]:
                total += np.array(found.confusion or total * 0, np.int64)
        return total


def _predictions(runs: Sequence[Run]) -> list[Section]:
    """Return for each task a matrix of the source language and one of all others, and examples."""
    found = [one for run in first_of_each(runs) for one in _tasks(run)]
    if not found:
        return []
    sources = {row.source for run in runs for row in run.scores}
    figures = [figure for one in found if one.classes for figure in _figures(one, sources)]
    frequent = [(one.name, rows) for one in found if len(one.classes) > 2 and (rows := _frequent(one))]
    wrong = [(one.name, groups) for one in found if (groups := _wrong(one))]
    body = render("predictions", figures=figures, frequent=frequent, examples=wrong)
    lead = "Rows: gold class. Columns: predicted class, in percent of the row. The frame marks correct predictions."
    drawings = [drawing for _, drawing in figures]
    return [Section("Confusion matrices", lead if figures else "Examples of wrong predictions.", body, drawings)]


def _tasks(run: Run) -> list[_TaskPredictions]:
    groups: dict[tuple[str, str], list[PredictionFile]] = {}
    for found in run.predictions:
        groups.setdefault((found.task, found.setting), []).append(found)
    tasks = []
    for (task, setting), files in groups.items():
        by_language: dict[str, list[LanguagePredictions]] = {}
        for file in files:
            for language, predicted in file.languages.items():
                by_language.setdefault(language, []).append(predicted)
        tasks.append(_TaskPredictions(f"{task_name(task, setting)}, {run.label}", files[0].classes, by_language))
    return tasks


def _figures(one: _TaskPredictions, sources: set[str]) -> list[tuple[str, Drawing]]:
    """Return (caption, matrix) of the source language, and of all others together."""
    first = [language for language in one.by_language if language in sources]
    others = [language for language in one.by_language if language not in sources]
    figures = []
    for name, languages in (
        (language_names(first), first),
        (f"{len(others)} other language{'s' * (len(others) != 1)}", others),
    ):
        if languages:
            count = max(len(one.by_language[language]) for language in languages)
            note = f", sum of {count} fine-tunings" if count > 1 else ""
            figures.append((f"{one.name}: {name}{note}", _matrix(one, languages, name, note)))
    return figures


def _matrix(one: _TaskPredictions, languages: Sequence[str], name: str, note: str) -> Drawing:
    """Draw the matrix without rows of no example, and without an empty last column."""
    table = one.counts(languages)
    columns = [*one.classes, "none"] if table[:, -1].any() else one.classes
    rows = [row for row in range(len(one.classes)) if table[row].sum()]
    small = len(one.classes) <= 6  # wide cells

    def cell(row: int, column: int) -> Shade | None:
        count, total = table[row, column], table[row].sum()
        share = 100 * count / total
        if share < 0.5 and column != row:
            return None
        words = percent(share) if small else number(share, 0)
        return Shade(words, "", share / 100, column == row, f"{count} of {total}{note}")

    label = f"{one.name}, {name}: " + "; ".join(
        f"{one.classes[row]} correct {100 * table[row, row] / table[row].sum():.0f} %" for row in rows
    )
    widest = max(text_width(column, 12.0) for column in columns) + 6
    width, height = (max(widest, 84.0), 30.0) if small else (max(widest, 32.0), 24.0)
    cells = [[cell(row, column) for column in range(len(columns))] for row in rows]
    return heat_map([one.classes[row] for row in rows], columns, cells, label, width, height)


def _frequent(one: _TaskPredictions) -> list[tuple[str, str]]:
    """Return by language the three most frequent confusions, in percent of all errors."""
    found = []
    names = [*one.classes, "none"]
    for language in one.by_language:
        table = one.counts([language])
        counts = Counter(
            {(row, column): int(table[row, column]) for row, column in np.argwhere(table).tolist() if row != column}
        )
        parts = [
            f"{names[row]} \N{RIGHTWARDS ARROW} {names[column]} {percent(100 * count / counts.total())}"
            for (row, column), count in counts.most_common(3)
        ]
        if parts:
            found.append((language_name(language), ", ".join(parts)))
    return found


def _wrong(one: _TaskPredictions) -> list[dict[str, Any]]:
    """Return by language up to three examples: texts with labels, or words with the wrong ones marked."""
    found = []
    for language, seeds in one.by_language.items():
        shown = []
        for sample in [sample for sample in seeds[0].samples if sample.texts][:3]:
            marks = {mark["word"]: mark for mark in sample.wrong}
            words = [{"word": word, "mark": marks.get(place)} for place, word in enumerate(sample.words)]
            labels = {"gold": sample.gold, "predicted": sample.predicted or "none"}
            shown.append({"texts": sample.texts, **labels, "words": words})
        about = f"{seeds[0].wrong} of {seeds[0].n} examples with errors"
        about += f" (first of {len(seeds)} fine-tunings)" if len(seeds) > 1 else ""
        if shown:
            found.append({"language": language, "about": about, "samples": shown})
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
