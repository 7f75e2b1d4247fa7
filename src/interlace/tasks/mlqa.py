"""Extractive question answering (MLQA, Lewis et al. 2020): which words of a passage answer a question?

Also for XQuAD and TyDi QA GoldP, with their files and `normalization = "squad"`. The model predicts the first and last
subword of the answer (Devlin et al. 2019, section 4.2):

    sequence  <s> who reads ? </s> on monday anna reads letters </s>
    first                                    *
    last                                     *

Only subwords of the passage compete, and of them those that spell more than a blank. A window without the answer points
at the sequence's first token. Of all pairs of a first and a last subword at most `max_answer` long, the best are found
exactly, not among the best few firsts and lasts.

Answers are compared without case, punctuation, articles and superfluous white space, by exact match and F1 over words
(SQuAD v1.1, Rajpurkar et al. 2016). SQuAD's rules are English in all languages. MLQA's know the punctuation of all
scripts and the articles of its languages, and treat every Chinese character as a word.

Legend: B windows, L longest sequence, A longest answer, K spans kept of each window; q questions.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Generator
from interlace.data import Questions, Sentences, Windows, cut_windows
from interlace.data.encoding import subwords_in_span
from interlace.data.layout import pair_layout
from interlace.objectives import Batch, Prepared, Term
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import FineTuneTask, HeadSettings, Scores, TaskHead, Tuning
from interlace.tasks.common.files import FileQuery, Files, ReaderSettings, encode, log_notes
from interlace.text import Text, TextPairs
from interlace.text.codes import base_language
from interlace.text.scripts import UNSPACED, is_unspaced, scripts_of
from interlace.text.word_tokenizers.common.characters import at_graphemes

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

AnswerRules = Literal["mlqa", "squad"]
SPAN = np.dtype([("start", np.int32), ("end", np.int32), ("score", np.float32)])
"""A predicted answer. Of a window: its first and last subword in the piece of the passage. Of a question: its half-open
characters in the passage. An empty one has start and end -1 and the score -inf. Best scores come first."""


class SpanSettings(HeadSettings):
    """Settings of span extraction, with the defaults of Devlin et al.'s code."""

    max_length: int = Field(384, ge=16, description="Maximum sequence length in tokens (BERT's code: 384).")
    max_question: int = Field(
        64, ge=1, description="Maximum question length in tokens, at most half a sequence; truncated (code: 64)."
    )
    stride: int = Field(128, ge=1, description="Tokens from the beginning of a window to that of the next (code: 128).")
    max_answer: int = Field(30, ge=1, description="Maximum length of predicted answers in tokens (code: 30).")
    n_best: int = Field(20, ge=1, description="Answers kept of each window and of each question (code: 20).")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout probability before the linear layer (code: 0).")


class Mlqa(SpanSettings, FineTuneTask):
    """F1 and exact match of answers, in percent; a target `en-de` has passages in `en` and questions in `de`."""

    metric: ClassVar[str] = "f1"
    same_scale: ClassVar[tuple[str, ...]] = ("exact", "ceiling")
    text_type: ClassVar[type[TextPairs]] = TextPairs

    files: Files = Field(
        "qa/{split}.{language}.json",
        description="SQuAD v1.1 files under the data root: a pattern, or patterns by split or 'test.de'; {context} and "
        "{question} are the languages of a target such as 'en-de'. '..json[:3000]' are the first 3,000 questions.",
    )
    reader: ReaderSettings = Field("squad", description="Reader of the files; must return passages and questions.")
    normalization: AnswerRules = Field(
        "mlqa",
        description="How answers are compared: 'mlqa' by the passage's language, 'squad' by English rules in all "
        "languages (XQuAD, TyDi QA GoldP).",
    )
    tuning: Tuning = Field(
        default_factory=lambda: Tuning(learning_rate=3e-5, epochs=3, tokens_per_batch=8192, weight_decay=1e-4),
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
        placed = questions.spans[:, 0] >= 0
        truncated = int((questions.questions.lengths > self.max_question).sum())
        notes = {f"questions truncated to {self.max_question} subwords": truncated}
        if split == "train":
            blank = np.array([not line.strip() for _, chunk in chunks for line in chunk.target.lines], np.bool_)
            notes["questions left out: they have no text"] = int(blank.sum())
            notes["questions left out: their answer has no place in the passage"] = int((~placed & ~blank).sum())
            questions = questions.take(placed & ~blank)
        log_notes(self.name, path, notes)
        if not any(questions.answers):
            purpose = "train on" if split == "train" else "compare with"
            raise DataError(
                f"{self.name}: {path}: no question has an answer to {purpose}; where a test set has no public answers, "
                "hold out a part of a training file, such as 'train.json[-500:]'"
            )
        return questions

    def score(self, examples: Questions, predictions: NDArray[Any]) -> Scores:
        """Return `f1` and `exact` over the questions that have answers, and `ceiling`, the F1 that can be reached.

        The ceiling is below 100 where a subword crosses the border of an answer, or an answer is not in its passage.
        """
        rules, language = self.normalization, examples.passages.language
        found, best = (
            compare_all(best_texts(examples, spans), examples.answers, rules, language)
            for spans in (predictions, gold_spans(examples))
        )
        metrics = {name: 100 * float(np.nanmean(each)) for name, each in {**found, "ceiling": best["f1"]}.items()}
        outcomes = Examples(
            np.nan_to_num(found["f1"]),
            (~np.isnan(found["f1"])).astype(np.float64),
            identity_of(examples.ids, *examples.answers),
            groups=np.unique(examples.owners, return_inverse=True)[1],
        )
        return Scores(metrics, outcomes)

    def exports(self, examples: Questions, predictions: NDArray[Any]) -> dict[str, Any]:
        """Return `answers`, the best by question id as the official programs read them."""
        keys = [key or str(number) for number, key in enumerate(examples.ids)]
        return {"answers": dict(zip(keys, best_texts(examples, predictions), strict=True))}


def encode_questions(chunks: Sequence[TextPairs], vocab: Vocab) -> Questions:
    """Encode all questions in order, and each passage once; raise a DataError if there are no answers."""
    answers = [row for chunk in chunks for row in chunk.answers or []]
    places = [place for chunk in chunks for place in chunk.source.answers or []]
    count = sum(map(len, chunks))
    if not len(answers) == len(places) == count:
        raise DataError("the reader gives pairs without answers; set another 'reader', such as 'squad'")
    numbers: dict[str, int] = {}
    parts = [vocab.encode_with_offsets(new) for chunk in chunks if len(new := _new_lines(chunk.source, numbers))]
    characters = at_graphemes(Ragged.concatenate([spans for _, spans in parts]), list(numbers))
    owners = np.array([numbers[line] for chunk in chunks for line in chunk.source.lines], np.int64)
    return Questions(
        questions=encode((chunk.target for chunk in chunks), vocab),
        passages=Sentences.concatenate([sentences for sentences, _ in parts]),
        owners=owners,
        spans=subwords_in_span(characters, owners, np.array(places, np.int32).reshape(-1, 2)),
        characters=characters,
        texts=list(numbers),
        answers=answers,
        ids=[key for chunk in chunks for key in chunk.ids or [""] * len(chunk)],
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
    term: ClassVar[str] = "answer"

    def sequences(self, examples: Questions, prepared: Prepared) -> Windows:
        """Return windows of passages, as long as this model can read."""
        length = self.sequence_length(prepared) - 2 - len(prepared.vocab.separator_ids)
        return cut_windows(examples, length, self.max_question, self.stride)

    def batch(self, examples: Windows, prepared: Prepared, step: int, rng: Generator) -> Batch:  # noqa: ARG002
        """Predict first and last subword of every window: labels are (B, 2) columns; nothing is random.

        extra["open"]: (B, L) where an answer may begin and end. extra["begins"]: (B,) where the passage begins.
        """
        pairs, rows = examples.examples, np.arange(len(examples))
        layout = pair_layout(pairs, prepared.vocab, self.sequence_length(prepared))
        begins = 1 + len(prepared.vocab.separator_ids) + pairs.source.lengths
        columns = np.arange(layout.ids.shape[1])
        inside = (columns >= begins[:, None]) & (columns < (begins + pairs.target.lengths)[:, None])
        inside[inside] = np.diff(prepared.vocab.surfaces.spelled.offsets)[layout.ids[inside]] > 0
        labels = np.where(examples.spans >= 0, examples.spans + begins[:, None], 0)
        at = (rows, np.zeros_like(rows))
        return self.batch_of(layout, pairs.languages, prepared, at, labels, open=inside, begins=begins)

    def features(self, backbone: Backbone, batch: Batch) -> Tensor:
        """Return the (B, L, H) states of all subwords."""
        return self.states(backbone, batch)

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Return the sum over windows of the mean of two cross-entropies, of the first subword and of the last."""
        from torch.nn.functional import cross_entropy

        allowed = batch.extra["open"].clone()
        allowed[:, 0] = True  # the first token means that there is no answer
        first, last = self._span_logits(backbone, heads, batch, allowed)
        total = cross_entropy(first, batch.labels[:, 0], reduction="sum")
        return {self.term: Term((total + cross_entropy(last, batch.labels[:, 1], reduction="sum")) / 2)}

    def predict(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> NDArray[Any]:
        """Return the (B, K) best spans of each window by the sum of both logits."""
        import torch

        with torch.inference_mode():
            first, last = self._span_logits(backbone, heads, batch, batch.extra["open"])
            padded = torch.nn.functional.pad(last, (0, self.max_answer - 1), value=-torch.inf)
            both = first[:, :, None] + padded.unfold(1, self.max_answer, 1)  # (B, L, A)
            scores, places = both.flatten(1).topk(min(self.n_best, both[0].numel()))
        found = self.empty_predictions(len(places))
        start = (places // self.max_answer).cpu().numpy()
        kept = found[:, : places.shape[1]]  # a view
        kept["score"] = scores.cpu().numpy()
        kept["start"] = start - batch.extra["begins"].cpu().numpy()[:, None]
        kept["end"] = kept["start"] + (places % self.max_answer).cpu().numpy()
        empty = np.isneginf(found["score"])
        found["start"][empty] = found["end"][empty] = -1
        return found

    def _span_logits(
        self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch, allowed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Two of (B, L): how well each subword begins and ends the answer; -inf where it is not allowed."""
        logits = self.logits(backbone, heads, batch)  # (B, L, 2)
        first, last = logits.masked_fill(~allowed[:, :, None], -float("inf")).unbind(dim=-1)
        return first, last

    def notes(self, examples: Windows, prepared: Prepared) -> list[str]:  # noqa: ARG002 - known before the layout
        """Return how many windows there are, and how many answers no window holds as a whole."""
        questions = len(np.unique(examples.owners))
        lost = questions - len(np.unique(examples.owners[examples.spans[:, 0] >= 0]))
        remarks = [f"{questions} questions are read in {len(examples)} windows"] if len(examples) > questions else []
        if lost:
            remarks.append(f"{lost} of {questions} answers do not fit into a window and are not trained on")
        return remarks

    def class_columns(self, sequences: Windows) -> list[NDArray[np.integer]]:
        """Return the positions of the answer's first and last token in each window; 0 without an answer."""
        return [sequences.spans[:, side] + 1 for side in (0, 1)]

    def empty_predictions(self, count: int) -> NDArray[Any]:
        """Return (count, K) empty spans."""
        found = np.empty((count, self.n_best), SPAN)
        found["start"], found["end"], found["score"] = -1, -1, -np.inf
        return found

    def gold(self, examples: Questions) -> NDArray[Any]:
        """Return `gold_spans`."""
        return gold_spans(examples)

    def merge(self, examples: Questions, sequences: Windows, found: NDArray[Any]) -> NDArray[Any]:
        """Return the (q, K) best answers of each question from all its windows.

        Equal characters count once, with their best score: two windows may hold them, and the bytes of one letter may
        be several subwords. Spans without a character are left out.
        """
        window, rank = np.nonzero(found["start"] >= 0)
        spans, owners = found[window, rank], sequences.owners[window]
        subwords = np.stack([spans["start"], spans["end"]], axis=1) + sequences.firsts[window][:, None]
        characters = _characters(examples, examples.owners[owners], subwords)
        score = spans["score"]
        order = np.lexsort((-score, characters[:, 1], characters[:, 0], owners))
        order = order[characters[order, 0] < characters[order, 1]]
        keys = np.concatenate([owners[:, None], characters], axis=1)[order]
        order = order[np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(order)]]
        order = order[np.lexsort((*characters[order].T[::-1], -score[order], owners[order]))]
        counts = np.bincount(owners[order], minlength=len(examples))
        places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        order, places = order[places < self.n_best], places[places < self.n_best]
        best, at = self.empty_predictions(len(examples)), (owners[order], places)
        best["start"][at], best["end"][at] = characters[order].T
        best["score"][at] = score[order]
        return best


def gold_spans(questions: Questions) -> NDArray[Any]:
    """Return the (q, 1) characters of one right answer of each question; empty if it is not in its passage."""
    found = np.zeros((len(questions), 1), SPAN)
    characters = _characters(questions, questions.owners, questions.spans)
    found["start"], found["end"] = characters[:, :1], characters[:, 1:]
    return found


def _characters(questions: Questions, passages: NDArray[Any], spans: NDArray[Any]) -> NDArray[np.int32]:
    """(n, 2) the characters of a span of subwords of each given passage; (-1, -1) for an empty one."""
    there = spans[:, 0] >= 0
    places = questions.characters.offsets[passages[there]][:, None] + spans[there]
    values = questions.characters.values
    found = np.full(spans.shape, -1, np.int32)
    found[there] = np.stack([values[places[:, 0], 0], values[places[:, 1], 1]], axis=1)
    return found


def best_texts(questions: Questions, predictions: NDArray[Any]) -> list[str]:
    """Return the best answer to each question, or an empty one; predictions: (n, K) `SPAN`s, best first."""
    best = zip(questions.owners.tolist(), predictions[:, 0][["start", "end"]].tolist(), strict=True)
    return [questions.texts[owner][start:end] if start >= 0 else "" for owner, (start, end) in best]


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
        dropped = character in string.punctuation or unicodedata.category(character).startswith("P")
        self[code] = None if dropped else code
        return self[code]


_ANY = _Punctuation()
_ASCII = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=1 << 16)  # gold answers are compared again at every dev evaluation
def answer_words(answer: str, rules: AnswerRules, language: str) -> tuple[str, ...]:
    """Return the words of a normalized answer; exact match compares all of them.

    language: of the answer. With MLQA's rules, its seven languages are treated as by its program; in others articles
        stay, and in scripts without blanks (Japanese, Thai) every character is a word.
    """
    squad = rules == "squad"
    text = answer.lower().translate(_ASCII if squad else _ANY)
    if articles := _ENGLISH if squad else _ARTICLES.get(language):
        text = re.sub(articles, " ", text)
    if not squad and scripts_of(language) & UNSPACED:
        is_word = _HAN.match if base_language(language) == "zh" else is_unspaced
        text = "".join(f" {character} " if is_word(character) else character for character in text)
    return tuple(text.split())


def compare_answers(found: str, answers: Sequence[str], rules: AnswerRules, language: str) -> tuple[float, float]:
    """Return (F1 of words, exact match), each against the nearest answer, 0 to 1."""
    words, *right = (answer_words(answer, rules, language) for answer in (found, *answers))
    common = [(Counter(words) & Counter(one)).total() for one in right]
    f1 = max(2 * both / (len(words) + len(one)) if both else 0.0 for both, one in zip(common, right, strict=True))
    return f1, float(words in right)


def compare_all(
    found: Sequence[str], answers: Sequence[Sequence[str]], rules: AnswerRules, language: str
) -> dict[str, NDArray[np.float64]]:
    """Return (n,) `f1` and `exact` of each question, 0 to 1; NaN where it has no answer."""
    scores = [
        compare_answers(one, right, rules, language) if right else (np.nan, np.nan)
        for one, right in zip(found, answers, strict=True)
    ]
    columns = np.array(scores, np.float64).reshape(-1, 2)
    return {"f1": columns[:, 0], "exact": columns[:, 1]}
