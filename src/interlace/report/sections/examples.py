"""Training examples as the model reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from interlace.report.runs import ReportedRun, Sample, SampleRow, of_first_runs
from interlace.report.sections import Section
from interlace.report.text import language_name, render

_MAX_TOKENS = 80
_MAX_CORPORA = 3  # of an objective
_MASKS = {"<mask>", "[MASK]", "<special1>"}
_CLOSING = {"</s>", "[SEP]", "<eos>", "[EOS]"}
_SPECIALS = _CLOSING | {"<s>", "<bos>", "<pad>", "<unk>", "[BOS]", "[CLS]", "[PAD]", "[UNK]"}
# First character of a token at the start of a word: Unigram, byte-level BPE.
_STARTS = ("\N{LOWER ONE EIGHTH BLOCK}", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}")


@dataclass
class ShownToken:
    """A token as the page shows it.

    joined: whether it continues the word before. kind: its class. side: 1 of the second language within mixed text.
    """

    text: str
    joined: bool
    kind: str
    side: int = 0
    targets: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SamplePart:
    """The tokens of one side of an example; the language is empty where it is unknown or mixed."""

    side: int
    language: str
    tokens: list[ShownToken]

    @property
    def name(self) -> str:
        """The name of the language."""
        return language_name(self.language)


@dataclass(frozen=True)
class ShownSample:
    """The first example of a corpus in parts; clipped: whether its end is left out."""

    corpus: str
    parts: list[SamplePart]
    clipped: bool


def training_examples(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section `Training examples`: for each objective an example of some corpora, from the first run."""
    by_objective = of_first_runs(
        runs,
        lambda run: run.samples,
        lambda sample: sample.objective,
    )
    if not by_objective:
        return None
    shown = {}
    for name, samples in by_objective.items():
        shown[name] = [shown_sample(sample) for sample in samples[:_MAX_CORPORA] if sample.rows]
    lead = "Training input. Marked tokens are masked or replaced; targets are below the predicted tokens."
    return Section(
        "Training examples",
        lead,
        render("samples", objectives=shown),
    )


def shown_sample(sample: Sample) -> ShownSample:
    """Return the first example of a corpus, in parts of one side each; text that mixes languages is a single part."""
    corpus = sample.corpus.rpartition(":")[2]
    languages = corpus.split("-") if corpus.count("-") == 1 else [corpus]
    row = sample.rows[0]
    tokens = _tokens(row)
    sides = _sides(row, is_pair=len(languages) == 2)
    is_known = len(set(sides)) == len(languages)
    parts: list[SamplePart] = []
    for token, side in zip(tokens[:_MAX_TOKENS], sides, strict=False):
        if not parts or parts[-1].side != side:
            language = languages[side] if is_known else ""
            parts.append(SamplePart(side, language, []))
        parts[-1].tokens.append(token)
    if len(parts) > 2:  # code-switched: sides alternate within the sentence
        for part in parts:
            for token in part.tokens:
                token.side = part.side
        parts = [SamplePart(0, "", tokens[:_MAX_TOKENS])]
    name = language_name(sample.corpus)
    return ShownSample(name, parts, clipped=len(tokens) > _MAX_TOKENS)


def _sides(row: SampleRow, *, is_pair: bool) -> list[int]:
    """Return the side of each token: as recorded, or of a pair cut behind the first closing token."""
    if len(set(row.sides)) > 1:
        return row.sides
    closing = [index for index, token in enumerate(row.tokens) if token in _CLOSING]
    if not is_pair or not closing:
        return [0] * len(row.tokens)
    # RoBERTa closes a side with two tokens
    end = next((index for index in closing if index + 1 not in closing), closing[-1])
    return [int(index > end) for index in range(len(row.tokens))]


def _tokens(row: SampleRow) -> list[ShownToken]:
    targets: dict[int, list[str]] = {}
    for position, target in zip(row.at, row.targets, strict=True):
        targets.setdefault(position, []).append(_bare(target))
    marks_starts = any(token.startswith(_STARTS) for token in row.tokens)
    tokens = []
    previous = ""
    for index, token in enumerate(row.tokens):
        continues = not token.startswith(_STARTS) if marks_starts else token.startswith("##")
        stands_alone = index == 0 or token in _MASKS | _SPECIALS or previous in _SPECIALS
        kind = _kind(token, is_changed=index in row.changed)
        joined = continues and not stands_alone
        tokens.append(
            ShownToken(
                _bare(token),
                joined,
                kind,
                targets=targets.get(index, []),
            )
        )
        previous = token
    return tokens


def _kind(token: str, *, is_changed: bool) -> str:
    if token in _MASKS:
        return "mask"
    if token in _SPECIALS:
        return "special"
    return "changed" if is_changed else "plain"


def _bare(token: str) -> str:
    """Return the token without its word-boundary character."""
    if token.startswith("##") and len(token) > 2:
        return token[2:]
    return token[1:] if token.startswith(_STARTS) and len(token) > 1 else token
