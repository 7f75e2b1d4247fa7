"""Extractive question answering (MLQA, Lewis et al. 2020): which words of a passage answer a question?

Also for XQuAD and TyDi QA GoldP, with their files and `normalization = "squad"`. The model predicts the first and last
subword of the answer (Devlin et al. 2019, section 4.2):

    sequence  <s> who reads ? </s> on monday anna reads letters </s>
    first                                    *
    last                                     *

Only subwords of the passage compete, and of them those that spell more than a blank. A window without the answer points
at the sequence's first token. Of all pairs of a first and a last subword at most `max_answer` long, the best is found
exactly, not among the best few firsts and lasts.

Answers are compared without case, punctuation, articles and superfluous white space, by exact match and F1 over words
(SQuAD v1.1, Rajpurkar et al. 2016). SQuAD's rules are English in all languages. MLQA's know the punctuation of all
scripts and the articles of its languages, and treat every Chinese character as a word.

Legend: B windows, L longest sequence, A longest answer; q questions.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.json_files import JsonObject
from interlace.core.ragged import AnyArray, DoubleArray, Int32Array, IntegerArray, Ragged
from interlace.core.randomness import Generator
from interlace.data import Questions, Sentences, Windows, cut_windows
from interlace.data.layout import pair_layout
from interlace.objectives import Batch, Prepared, Term
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import FineTuneTask, HeadSettings, Scores, TaskHead, Tuning
from interlace.tasks.common.files import FileQuery, Files, ReaderSettings, encode, log_notes
from interlace.text import Text, TextPairs
from interlace.text.characters import at_graphemes
from interlace.text.codes import base_language
from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

MAX_ANSWER = 30  # tokens of a predicted answer (Devlin et al.'s code)

AnswerRules = Literal["mlqa", "squad"]
SPAN = np.dtype([("start", np.int32), ("end", np.int32), ("score", np.float32)])
"""A predicted answer. Of a window: its first and last subword in the piece of the passage. Of a question: its half-open
characters in the passage. An empty one has start and end -1 and the score -inf."""


class SpanSettings(HeadSettings):
    """Settings of span extraction, with the defaults of Devlin et al.'s code."""

    max_length: int = Field(
        384,
        ge=16,
        description="Maximum sequence length in tokens (BERT's code: 384).",
    )
    max_question: int = Field(
        64,
        ge=1,
        description="Maximum question length in tokens, at most half a sequence; truncated (code: 64).",
    )
    stride: int = Field(
        128,
        ge=1,
        description="Tokens from the beginning of a window to that of the next (code: 128).",
    )
    dropout: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Dropout probability before the linear layer (code: 0).",
    )


class Mlqa(SpanSettings, FineTuneTask):
    """F1 and exact match of answers, in percent; a target `en-de` has passages in `en` and questions in `de`."""

    metric = "f1"
    further_metrics = ("exact",)
    text_type = TextPairs

    files: Files = Field(
        "qa/{split}.{language}.json",
        description="SQuAD v1.1 files under the data root: a pattern, or patterns by split or 'test.de'; {context} and "
        "{question} are the languages of a target such as 'en-de'. '..json[:3000]' are the first 3,000 questions.",
    )
    reader: ReaderSettings = Field(
        "squad",
        description="Reader of the files; must return passages and questions.",
    )
    normalization: AnswerRules = Field(
        "mlqa",
        description="How answers are compared: 'mlqa' by the passage's language, 'squad' by English rules in all "
        "languages (XQuAD, TyDi QA GoldP).",
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(
            learning_rate=3e-5,
            epochs=3,
            tokens_per_batch=8192,
            weight_decay=1e-4,
        ),
        description="How the task is fine-tuned (XTREME's code: 3e-5, 3 epochs, 32 sequences per batch).",
    )

    def head(self) -> SpanExtractor:
        """Return a predictor of the answer's first and last subword."""
        return self.build_head(SpanExtractor)

    def reader_languages(self, query: FileQuery) -> list[str]:
        """Return the languages of passages and questions, or the one language of both."""
        return list(dict.fromkeys(query.language.split("-", 1)))

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> Questions:
        """Encode questions in the order of the files.

        Training questions without text, or without a place of an answer, are left out. In test sets a question without
        text is kept, because a translation that failed costs its score.
        """
        chunks = self.clean_chunks(self.query(split, language, root))
        path = chunks[-1][0]
        questions = encode_questions([chunk for _, chunk in chunks], vocab)
        if split == "train":
            lines = chain.from_iterable(chunk.target.lines for _, chunk in chunks)
            has_text = np.array([bool(line.strip()) for line in lines], np.bool_)
            is_kept = has_text & (questions.spans[:, 0] >= 0)
            left_out = int((~is_kept).sum())
            log_notes(
                self.name, path, {"questions without a text or an answer left out": left_out}
            )
            questions = questions.take(is_kept)
        if not any(questions.answers):
            purpose = "train on" if split == "train" else "compare with"
            raise DataError(
                f"{self.name}: {path}: no question has an answer to {purpose}; where a test set has no public answers, "
                "hold out a part of a training file, such as 'train.json[-500:]'"
            )
        return questions

    def score(self, examples: Questions, predictions: AnyArray) -> Scores:
        """Return `f1` and `exact` over the questions that have answers."""
        texts = best_texts(examples, predictions)
        language = examples.passages.language
        f1, exact = compare_all(texts, examples.answers, self.normalization, language)
        has_answer = ~np.isnan(f1)
        metrics = {"f1": 100 * float(np.nanmean(f1)), "exact": 100 * float(np.nanmean(exact))}
        identity = identity_of(examples.ids, *examples.answers)
        passages = np.unique(examples.owners, return_inverse=True)[1]
        weight = has_answer.astype(np.float64)
        return Scores(metrics, Examples(np.nan_to_num(f1), weight, identity, groups=passages))

    def exports(self, examples: Questions, predictions: AnyArray) -> JsonObject:
        """Return `answers`, the best by question id as the official programs read them."""
        answers = {}
        texts = best_texts(examples, predictions)
        for number, (key, text) in enumerate(zip(examples.ids, texts, strict=True)):
            answers[key or str(number)] = text
        return {"answers": answers}


def encode_questions(chunks: Sequence[TextPairs], vocab: Vocab) -> Questions:
    """Encode all questions in order, and each passage once; raise a DataError if there are no answers."""
    from interlace.data.encoding import subwords_in_span

    answers: list[list[str]] = []
    spans: list[tuple[int, int]] = []  # characters of an answer in the passage
    owners: list[int] = []
    ids: list[str] = []
    passages: list[Sentences] = []
    characters: list[Ragged] = []
    numbers: dict[str, int] = {}
    for chunk in chunks:
        answers += chunk.answers or []
        spans += chunk.source.answers or []
        ids += chunk.ids or [""] * len(chunk)
        new_passages = _new_lines(chunk.source, numbers)
        owners += [numbers[line] for line in chunk.source.lines]
        if len(new_passages):
            sentences, offsets = vocab.encode_with_offsets(new_passages)
            passages.append(sentences)
            characters.append(offsets)
    if not len(answers) == len(spans) == len(owners):
        raise DataError(
            "the reader gives pairs without answers; set another 'reader', such as 'squad'"
        )
    texts = list(numbers)
    graphemes = at_graphemes(Ragged.concatenate(characters), texts)
    passage_numbers = np.array(owners, np.int64)
    return Questions(
        questions=encode((chunk.target for chunk in chunks), vocab),
        passages=Sentences.concatenate(passages),
        owners=passage_numbers,
        spans=subwords_in_span(
            graphemes,
            passage_numbers,
            np.array(spans, np.int32).reshape(-1, 2),
        ),
        characters=graphemes,
        texts=texts,
        answers=answers,
        ids=ids,
    )


def _new_lines(text: Text, numbers: dict[str, int]) -> Text:
    """Return the lines that are not in `numbers` yet, each once, and number them."""
    new = np.zeros(len(text), np.bool_)
    for row, line in enumerate(text.lines):
        if line not in numbers:
            numbers[line] = len(numbers)
            new[row] = True
    return text.where(new)


class SpanExtractor(SpanSettings, TaskHead):
    """A linear layer of two outputs on the last state of each subword."""

    reads: ClassVar[type] = Questions
    term = "answer"

    def sequences(self, examples: Questions, prepared: Prepared) -> Windows:
        """Return windows of passages, as long as this model can read."""
        length = self.sequence_length(prepared) - 2 - len(prepared.vocab.separator_ids)
        return cut_windows(examples, length, self.max_question, self.stride)

    def batch(self, examples: Windows, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Predict first and last subword of every window: labels are (B, 2) columns; nothing is random.

        extra["open"]: (B, L) where an answer may begin and end. extra["begins"]: (B,) where the passage begins.
        """
        pairs = examples.examples
        layout = pair_layout(pairs, prepared.vocab, self.sequence_length(prepared))
        begins = 1 + len(prepared.vocab.separator_ids) + pairs.source.lengths  # (B,)
        ends = begins + pairs.target.lengths
        columns = np.arange(layout.ids.shape[1])
        is_open = (columns >= begins[:, None]) & (columns < ends[:, None])  # (B, L)
        is_open[is_open] = ~prepared.vocab.surfaces.is_blank[layout.ids[is_open]]
        columns_of_spans = examples.spans + begins[:, None]
        labels = np.where(examples.spans >= 0, columns_of_spans, 0)
        rows = np.arange(len(examples))
        return Batch.of(
            layout,
            pairs.languages,
            prepared,
            at=(rows, np.zeros_like(rows)),
            labels=labels.astype(np.int64),
            counts={self.term: float(len(rows))},
            extra={"open": is_open, "begins": begins},
        )

    def features(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (B, L, H) states of all subwords."""
        return backbone.encode(batch.inputs)

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the sum over windows of the mean of two cross-entropies, of the first subword and of the last."""
        from torch.nn.functional import cross_entropy

        allowed = batch.extra["open"].clone()
        allowed[:, 0] = True  # the first token means that there is no answer
        first, last = self._span_logits(backbone, heads, batch, allowed)
        first_loss = cross_entropy(first, batch.labels[:, 0], reduction="sum")
        last_loss = cross_entropy(last, batch.labels[:, 1], reduction="sum")
        return {self.term: Term((first_loss + last_loss) / 2)}

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> AnyArray:
        """Return the (B,) best span of each window by the sum of both logits."""
        import torch

        with torch.inference_mode():
            first, last = self._span_logits(backbone, heads, batch, batch.extra["open"])
            padded = torch.nn.functional.pad(last, (0, MAX_ANSWER - 1), value=-torch.inf)
            last_by_length = padded.unfold(1, MAX_ANSWER, 1)  # (B, L, A)
            both = first[:, :, None] + last_by_length
            scores, cells = both.flatten(1).max(dim=1)
        start_columns = (cells // MAX_ANSWER).cpu().numpy()
        further_subwords = (cells % MAX_ANSWER).cpu().numpy()
        spans = self.empty_predictions(len(cells))
        spans["score"] = scores.cpu().numpy()
        is_filled = ~np.isneginf(spans["score"])
        starts = start_columns - batch.extra["begins"].cpu().numpy()
        spans["start"][is_filled] = starts[is_filled]
        spans["end"][is_filled] = (starts + further_subwords)[is_filled]
        return spans

    def _span_logits(
        self,
        backbone: Backbone,
        heads: nn.ModuleDict,
        batch: Batch,
        allowed: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Two of (B, L): how well each subword begins and ends the answer; -inf where it is not allowed."""
        logits = self.logits(backbone, heads, batch)  # (B, L, 2)
        logits = logits.masked_fill(~allowed[:, :, None], -float("inf"))
        first, last = logits.unbind(dim=-1)
        return first, last

    def class_columns(self, sequences: Windows) -> list[IntegerArray]:
        """Return the positions of the answer's first and last token in each window; 0 without an answer."""
        return [sequences.spans[:, side] + 1 for side in (0, 1)]

    def empty_predictions(self, count: int) -> AnyArray:
        """Return `count` empty spans."""
        return np.full(count, np.array((-1, -1, -np.inf), SPAN))

    def gold(self, examples: Questions) -> AnyArray:
        """Return `gold_spans`."""
        return gold_spans(examples)

    def merge(
        self,
        examples: Questions,
        sequences: Windows,
        predictions: AnyArray,
    ) -> AnyArray:
        """Return the (q,) best answer of each question, that of the best of its windows.

        Spans without a character are left out. Of equally good ones the first in the passage is taken.
        """
        window = np.flatnonzero(predictions["start"] >= 0)
        spans = predictions[window]  # (m,)
        questions = sequences.owners[window]
        subwords = np.stack([spans["start"], spans["end"]], axis=1)
        subwords += sequences.firsts[window][:, None]
        characters = _characters(examples, examples.owners[questions], subwords)
        start, end = characters.T
        # by question, the best first
        order = np.lexsort((end, start, -spans["score"], questions))
        order = order[start[order] < end[order]]
        answered, first = np.unique(questions[order], return_index=True)
        best = order[first]
        answers = self.empty_predictions(len(examples))
        answers["start"][answered] = start[best]
        answers["end"][answered] = end[best]
        answers["score"][answered] = spans["score"][best]
        return answers


def gold_spans(questions: Questions) -> AnyArray:
    """Return the (q,) characters of one right answer of each question; empty if it is not in its passage."""
    spans = np.zeros(len(questions), SPAN)
    characters = _characters(questions, questions.owners, questions.spans)
    spans["start"] = characters[:, 0]
    spans["end"] = characters[:, 1]
    return spans


def _characters(
    questions: Questions,
    passages: AnyArray,
    spans: AnyArray,
) -> Int32Array:
    """(n, 2) the characters of a span of subwords of each given passage; (-1, -1) for an empty one."""
    is_filled = spans[:, 0] >= 0
    first_subwords = questions.characters.offsets[passages[is_filled]]
    first = questions.characters.values[first_subwords + spans[is_filled, 0]]
    last = questions.characters.values[first_subwords + spans[is_filled, 1]]
    characters = np.full(spans.shape, -1, np.int32)
    characters[is_filled] = np.stack([first[:, 0], last[:, 1]], axis=1)
    return characters


def best_texts(questions: Questions, answers: AnyArray) -> list[str]:
    """Return the answer to each question, or an empty one; answers: (q,) `SPAN`s."""
    texts = []
    for owner, start, end in zip(
        questions.owners, answers["start"], answers["end"], strict=True
    ):
        if start < 0:
            texts.append("")
        else:
            passage = questions.texts[owner]
            texts.append(passage[start:end])
    return texts


_ENGLISH = r"\b(a|an|the)\b"
_ARTICLES = {
    "en": _ENGLISH,
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "ar": "ال",  # also inside words, as in MLQA's program
}
_HAN = re.compile("[\u4e00-\u9fa5]")  # MLQA's Chinese characters


class _Punctuation(dict[int, int | None]):
    """A table for `str.translate` that drops ASCII's signs and Unicode punctuation, filled as it is used."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        category = unicodedata.category(character)
        self[code] = code
        if character in string.punctuation or category.startswith("P"):
            self[code] = None
        return self[code]


_ANY = _Punctuation()
_ASCII = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=1 << 16)  # gold answers are compared again at every dev evaluation
def answer_words(answer: str, rules: AnswerRules, language: str) -> tuple[str, ...]:
    """Return the words of a normalized answer; exact match compares all of them.

    language: of the answer. With MLQA's rules, its seven languages are treated as by its program; in others articles
        stay, and in scripts without blanks (Japanese, Thai) every character is a word.
    """
    if rules == "squad":
        text = answer.lower().translate(_ASCII)
        text = re.sub(_ENGLISH, " ", text)
        return tuple(text.split())
    text = answer.lower().translate(_ANY)
    articles = _ARTICLES.get(language)
    if articles:
        text = re.sub(articles, " ", text)
    if base_language(language) == "zh":
        text = _HAN.sub(r" \g<0> ", text)
    elif scripts_of(language) & UNSPACED:
        characters = [f" {letter} " if is_unspaced(letter) else letter for letter in text]
        text = "".join(characters)
    return tuple(text.split())


def compare_answers(
    answer: str,
    gold: Sequence[str],
    rules: AnswerRules,
    language: str,
) -> tuple[float, float]:
    """Return (F1 of words, exact match), each against the nearest gold answer, 0 to 1."""
    words = answer_words(answer, rules, language)
    best_f1 = 0.0
    exact = 0.0
    for gold_answer in gold:
        gold_words = answer_words(gold_answer, rules, language)
        common = (Counter(words) & Counter(gold_words)).total()
        if common:
            f1 = 2 * common / (len(words) + len(gold_words))
            best_f1 = max(best_f1, f1)
        if words == gold_words:
            exact = 1.0
    return best_f1, exact


def compare_all(
    answers: Sequence[str],
    gold: Sequence[Sequence[str]],
    rules: AnswerRules,
    language: str,
) -> tuple[DoubleArray, DoubleArray]:
    """Return the (q,) F1 and exact match of the answer to each question, 0 to 1; NaN where it has no gold answer."""
    f1 = np.full(len(answers), np.nan)
    exact = np.full(len(answers), np.nan)
    for row, (answer, right) in enumerate(zip(answers, gold, strict=True)):
        if right:
            f1[row], exact[row] = compare_answers(answer, right, rules, language)
    return f1, exact
