"""Apply a fine-tuned model that `interlace evaluate --save-models` saved to new text.

The text is encoded and predicted as in evaluation, so that predictions of a test file equal those that were scored.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.display import listed
from interlace.core.errors import DataError, SettingsError, nearest
from interlace.core.json_files import read_json
from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs
from interlace.experiments.score_store import scores_of_model
from interlace.readers import READERS
from interlace.readers.common.questions import NOT_FOUND, AnsweredQuestion, question_pairs
from interlace.readers.common.text import join_tokens
from interlace.readers.squad import Squad
from interlace.scores import ScoreEntry
from interlace.tasks.common.classification import ClassificationTask, TaggingTask
from interlace.tasks.common.files import encode
from interlace.tasks.mlqa import Mlqa, best_texts, encode_questions
from interlace.text import Text, TextPairs
from interlace.training.device import accelerator_for
from interlace.training.fine_tuned import (
    FINE_TUNED,
    FineTunedModel,
    FineTunedRecord,
    is_saved,
    read_record,
)
from interlace.training.run_folder import SCORES

log = logging.getLogger(__name__)

NO_TAG = {"names": "O", "pos": "_"}  # of a word without a prediction, by kind of tags


class SavedModel(NamedTuple):
    """The folder of a fine-tuned model, and its record."""

    folder: Path
    record: FineTunedRecord

    @property
    def settings(self) -> list[str]:
        """The settings that it is scored in."""
        return list(dict.fromkeys(setting for setting, _ in self.record["items"]))

    def scores_language(self, language: str) -> bool:
        """Return whether the language is among those that it is scored in."""
        return language in {scored for _, scored in self.record["items"]}


def saved_models(folder: Path) -> list[SavedModel]:
    """Return the fine-tuned models of a run's folder, or of a folder of scores, that belong to its scores.

    A folder that is itself a fine-tuned model is the only one.
    """
    record = read_record(folder)
    if record is not None:
        return [SavedModel(folder, record)]
    if not folder.is_dir():
        raise DataError(
            f"{folder}: no such folder; expected a run with scores, or a fine-tuned model"
        )
    rows: list[Any] = scores_of_model(folder, read_json(folder / SCORES, list[ScoreEntry], []))
    names = dict.fromkeys(Path(row["fine_tuned"]).name for row in rows if is_saved(folder, row))
    records = [
        (folder / FINE_TUNED / name, read_record(folder / FINE_TUNED / name)) for name in names
    ]
    return [SavedModel(path, record) for path, record in records if record is not None]


def choose_model(
    folder: Path, task: str, language: str = "", setting: str = "", seed: int | None = None
) -> SavedModel:
    """Return the saved model of a task; raise a SettingsError that lists the saved ones if there is none.

    Of several that fit, a model that is scored in the language comes first, then the lowest seed.
    """
    models = saved_models(folder)
    tasks = list(dict.fromkeys(model.record["name"] for model in models))
    if not tasks:
        raise DataError(
            f"{folder}: no fine-tuned model is saved; run `interlace evaluate {folder} --tasks {task or 'TASK'} "
            "--save-models`"
        )
    if not task and len(tasks) == 1:
        task = tasks[0]
    if task not in tasks:
        if task:
            what = f"no fine-tuned model of {task!r} is saved"
        else:
            what = "--task is missing"
        raise SettingsError(f"{folder}: {what}; saved tasks: {listed(tasks)}{nearest(task, tasks)}")
    fitting = [
        model
        for model in models
        if model.record["name"] == task
        and setting in {"", *model.settings}
        and seed in {None, model.record["seed"]}
    ]
    if not fitting:
        saved = listed(model.folder.name for model in models if model.record["name"] == task)
        raise SettingsError(
            f"{folder}: no saved model of {task!r} has this --setting and --seed; saved: {saved}"
        )
    return min(
        fitting, key=lambda model: (not model.scores_language(language), model.record["seed"])
    )


@dataclass(frozen=True)
class Predictions:
    """Output lines of a part of the input; `notes` counts what the user should know."""

    lines: list[str]
    count: int
    notes: dict[str, int]


class Predictor:
    """Applies a fine-tuned model to lines of text, or to files of questions.

    head_line: the first line of the output, for tables; "": none.
    """

    def __init__(
        self, folder: Path, language: str = "", word_tokenizer: str = "", precision: str = ""
    ) -> None:
        """Load a fine-tuned model.

        language: of the text; "": the source language of the evaluation. word_tokenizer: finds the words to tag.
        precision: "": that of the evaluation.
        """
        self.model = FineTunedModel.open(folder)
        self.language = language or self.model.record["source"]
        self.word_tokenizer = word_tokenizer or "by_language"
        task = self.model.task
        if not isinstance(task, TaggingTask | ClassificationTask | Mlqa):
            raise SettingsError(
                f"{folder}: {self.model.record['name']!r} neither tags words, nor classifies, nor answers questions"
            )
        if word_tokenizer and not isinstance(task, TaggingTask):
            raise SettingsError(
                f"--word-tokenizer: {self.model.record['name']!r} does not tag words"
            )
        self._accelerator = accelerator_for(precision or self.model.record["precision"])
        self.model.backbone.to(self._accelerator.device)
        self.model.modules.to(self._accelerator.device)
        if isinstance(task, ClassificationTask):
            self.head_line = "\t".join(("label", *task.classes))
        else:
            self.head_line = ""

    def windows(self, lines: Iterable[str], size: int) -> Iterator[Predictions]:
        """Yield predictions for `size` lines at a time; only one window is in memory."""
        lines = iter(lines)
        first = 1
        while window := list(islice(lines, size)):
            yield self._predict(window, first)
            first += len(window)

    def answers(self, path: Path) -> Iterator[Predictions]:
        """Yield `id<TAB>answer` for the questions of a SQuAD file, a chunk of the file at a time."""
        if not isinstance(self.model.task, Mlqa):
            raise SettingsError(
                f"{path}: questions, but {self.model.record['name']!r} does not answer any"
            )
        for chunk in Squad().read_chunks([path], [self.language]):
            found = self._answers(chunk)
            ids = chunk.ids or [""] * len(chunk)
            lines = [
                f"{' '.join(key.split())}\t{answer}"
                for key, answer in zip(ids, found.lines, strict=True)
            ]
            yield Predictions(lines, found.count, found.notes)

    def _predict(self, lines: list[str], first: int) -> Predictions:
        task = self.model.task
        if isinstance(task, TaggingTask):
            return self._tags(task, lines)
        if isinstance(task, ClassificationTask):
            return self._labels(task, lines, first)
        columns = _columns(lines, first, ("question", "passage"))
        questions = [
            AnsweredQuestion(passage, question, "", NOT_FOUND, []) for question, passage in columns
        ]
        return self._answers(
            question_pairs(questions, (self.language, self.language), "whitespace", Counter())
        )

    def _tags(self, task: TaggingTask, lines: list[str]) -> Predictions:
        """Return a line `word<TAB>tag` for each word, and an empty line after each sentence."""
        text = Text.of(lines, self.language, self.word_tokenizer)
        words = [text.tokens(line) for line in range(len(text))]
        if READERS.build(task.reader).joins_words:
            text = _joined(words, self.language)
        sentences = self.model.prepared.vocab.encode_words_apart(text)
        tags = Ragged.of([[0] * len(row) for row in words])
        predicted: Any = self.model.predict(
            LabeledExamples(sentences, tags=tags), self._accelerator
        )
        names = [
            *task.classes,
            NO_TAG.get(task.tag_kind, "_"),
        ]  # -1, no prediction, is the last one
        out: list[str] = []
        for row, numbers in zip(words, predicted, strict=True):
            out += [f"{word}\t{names[number]}" for word, number in zip(row, numbers, strict=True)]
            out.append("")
        missing = int((predicted.flat < 0).sum())
        notes = {
            "words without a tag: beyond the maximum length, or without subwords": missing,
            "lines with a tab, though a line is a sentence, not a word and its tag": sum(
                "\t" in line for line in lines
            ),
        }
        return Predictions(out, len(lines), notes)

    def _labels(self, task: ClassificationTask, lines: list[str], first: int) -> Predictions:
        """Return a line for each input line: the label and the probability of every class."""
        vocab = self.model.prepared.vocab
        labels = np.zeros(len(lines), np.int32)
        if task.text_type is Text:
            examples = LabeledExamples(
                encode([Text.of(lines, self.language)], vocab), labels=labels
            )
        else:
            columns = _columns(lines, first, ("first sentence", "second sentence"))
            sides = [
                encode([Text.of(list(side), self.language)], vocab)
                for side in zip(*columns, strict=True)
            ]
            examples = LabeledExamples(Pairs(sides[0], sides[1]), labels=labels)
        logits: NDArray[Any] = self.model.predict(examples, self._accelerator, logits=True)
        rows = zip(logits.argmax(axis=1).tolist(), _softmax(logits).tolist(), strict=True)
        out = [
            "\t".join([task.classes[best], *(f"{value:.4f}" for value in shares)])
            for best, shares in rows
        ]
        return Predictions(out, len(lines), {})

    def _answers(self, pairs: TextPairs) -> Predictions:
        """Return an answer for each question; empty where there is none."""
        questions = encode_questions([pairs], self.model.prepared.vocab)
        answers = best_texts(questions, self.model.predict(questions, self._accelerator))
        out = [answer.replace("\t", " ") for answer in answers]
        return Predictions(out, len(questions), {"questions without an answer": out.count("")})


def _joined(words: Sequence[Sequence[str]], language: str) -> Text:
    """Return sentences whose words are joined as readers of words join them."""
    joined = [join_tokens(row) for row in words]
    return Text(
        language, [line for line, _ in joined], Ragged.of([spans for _, spans in joined], width=2)
    )


def _columns(lines: Sequence[str], first: int, names: tuple[str, str]) -> list[list[str]]:
    """Return the two columns of each line; raise a DataError with the line's number if there are not two."""
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, first):
        if len(row) != 2:
            columns = "1 column" if len(row) == 1 else f"{len(row)} columns"
            raise DataError(
                f"line {number} of the input: {columns}, expected {names[0]}, tab, {names[1]}"
            )
    return rows


def _softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
