"""A batch as people read it: a line of what the model sees, and below each subword what is asked of it there."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace.data.vocab import Vocab
    from interlace.objectives import Batch, Objective

MASK = "[M]"
MOST = 12  # dictionary entries that are named
_BLANK = "▁"


@dataclass(frozen=True)
class Line:
    """What is said of some columns of a row."""

    name: str
    cells: Mapping[int, str]


@dataclass(frozen=True)
class Rendering:
    """The rows of a batch, several lines each, and what is said of all of it."""

    rows: list[list[Line]]
    notes: list[str]

    def text(self) -> list[str]:
        """Lines of text: the columns of a row stand below each other, an empty line between rows."""
        width = max((len(line.name) for row in self.rows for line in row), default=0)
        blocks = [_table(row, width) for row in self.rows]
        return [line for block in blocks for line in (*block, "")][:-1] + self.notes


def render(batch: Batch, vocab: Vocab, objective: Objective, languages: Sequence[str]) -> Rendering:
    """Any objective's batch.

    languages: of the two sides, or of the one that there is.
    """
    ids = batch.inputs["input_ids"]
    real = batch.inputs.get("attention_mask", np.ones_like(ids)).astype(bool)
    facts = _facts(batch, vocab, objective)
    mixed = batch.sides is not None and not _side_by_side(batch, real, vocab)
    rows = []
    for row, count in enumerate(real.sum(axis=1).tolist()):
        lines = [Line("reads", dict(enumerate(_pieces(vocab, ids[row, :count]))))]
        if mixed:
            sides = batch.sides[row, :count].tolist()
            lines.append(Line("language", {column: languages[side] for column, side in enumerate(sides)}))
        lines += _inputs(batch, row, count)
        lines += [Line(name, found) for name, cells in facts.items() if (found := cells.get(row))]
        rows.append(lines)
    return Rendering(rows, [*_pulled(batch, vocab), f"counts: {_counts(batch)}"])


def _facts(batch: Batch, vocab: Vocab, objective: Objective) -> dict[str, dict[int, dict[int, str]]]:
    """By name of a line, row and column, what the loss makes of a place."""
    if "other" in batch.extra:
        return _drawn(batch, vocab)
    name = "next" if objective.backbone == "causal" else "predicts"
    facts = {name: _placed(*batch.at, _pieces(vocab, batch.labels))}
    if "which" in batch.extra:
        facts["also from"] = _partners(batch, vocab)
    return facts


def _side_by_side(batch: Batch, real: Any, vocab: Vocab) -> bool:
    """Whether every row is one side and then the other, with a special between, so that nobody need be told."""
    turns = (np.diff(batch.sides) != 0) & real[:, 1:]
    behind_special = np.isin(batch.inputs["input_ids"][:, :-1], vocab.specials)
    return bool((turns.sum(axis=1) == 1).all() and behind_special[turns].all())


def _inputs(batch: Batch, row: int, count: int) -> list[Line]:
    """What the encoder reads beside the subwords."""
    lines = []
    for key, name in (("position_ids", "position"), ("token_type_ids", "language id"), ("langs", "language id")):
        if key in batch.inputs:
            values = batch.inputs[key][row, :count].tolist()
            lines.append(Line(name, {column: str(value) for column, value in enumerate(values)}))
    return lines


def _partners(batch: Batch, vocab: Vocab) -> dict[int, dict[int, str]]:
    """For every prediction that is made across, the words it is made from: as they were before they were masked."""
    whole = batch.inputs["input_ids"].copy()
    whole[batch.at] = batch.labels
    which, to, places = (batch.extra[name] for name in ("which", "to", "places"))
    pieces = _pieces(vocab, whole.reshape(-1)[places])
    joined = ["+".join(pieces[at] for at in np.flatnonzero(to == number)) or "nothing" for number in range(len(which))]
    return _placed(batch.at[0][which], batch.at[1][which], joined)


def _drawn(batch: Batch, vocab: Vocab) -> dict[str, dict[int, dict[int, str]]]:
    """Of linked words the other one, both ways; and which words stay near the vectors that the start gives them."""
    ids, heads = batch.inputs["input_ids"], batch.extra["heads"]
    rows, columns = np.divmod(heads, ids.shape[1])
    words = _pieces(vocab, ids[rows, columns])
    near: dict[int, dict[int, list[str]]] = {}
    one, other = batch.extra["one"], batch.extra["other"]
    for mine, theirs in (
        *zip(one.tolist(), other.tolist(), strict=True),
        *zip(other.tolist(), one.tolist(), strict=True),
    ):
        near.setdefault(int(rows[mine]), {}).setdefault(int(columns[mine]), []).append(words[theirs])
    found = {row: {column: "+".join(cell) for column, cell in cells.items()} for row, cells in near.items()}
    rows, columns = np.divmod(batch.extra.get("start_heads", heads[:0]), ids.shape[1])
    return {"drawn to": found, "held": _placed(rows, columns, ["start"] * len(rows))}


def _pulled(batch: Batch, vocab: Vocab) -> list[str]:
    """Dictionary entries whose rows of the embedding table come closer."""
    extra = batch.extra
    if "align_source" not in extra:
        return []
    words = [vocab.decode(ids).strip() for ids in np.split(extra["align_ids"], extra["align_starts"][1:])]
    pairs = [f"{words[a]}-{words[b]}" for a, b in zip(extra["align_source"], extra["align_target"], strict=True)]
    more = f" and {len(pairs) - MOST} more" if len(pairs) > MOST else ""
    notes = [f"pulled together: {' '.join(pairs[:MOST])}{more}"]
    if len(others := extra.get("align_others", [])):
        notes.append(f"kept apart from: {' '.join(words[word] for word in others[:MOST])}")
    return notes


def _counts(batch: Batch) -> str:
    terms = {name: count for name, count in batch.counts.items() if not name.endswith("_share")}
    return ", ".join(f"{term} {count:g}" for term, count in terms.items())


def _placed(rows: Any, columns: Any, texts: Sequence[str]) -> dict[int, dict[int, str]]:
    placed: dict[int, dict[int, str]] = {}
    for row, column, text in zip(rows.tolist(), columns.tolist(), texts, strict=True):
        placed.setdefault(row, {})[column] = text
    return placed


def _pieces(vocab: Vocab, ids: Any) -> list[str]:
    """Subwords without the sign of a blank before them; `+` marks one that goes on with a word, where that is told."""
    specials = {int(number) for number in vocab.specials}
    names = vocab.tokens(ids)
    blanks = any(name.startswith(_BLANK) for name in names)
    pieces = []
    for number, name in zip(np.asarray(ids).tolist(), names, strict=True):
        if number == vocab.mask:
            pieces.append(MASK)
        elif number in specials or not blanks:
            pieces.append(name)
        else:
            pieces.append(name.removeprefix(_BLANK) if name.startswith(_BLANK) else f"+{name}")
    return pieces


def _table(lines: Sequence[Line], width: int) -> list[str]:
    columns = sorted({column for line in lines for column in line.cells})
    widths = {column: max(_cells(line.cells.get(column, "")) for line in lines) for column in columns}
    found = []
    for line in lines:
        cells = [_padded(line.cells.get(column, ""), widths[column]) for column in columns]
        found.append("  ".join([line.name.ljust(width), *cells]).rstrip())
    return found


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    kept = (character for character in text if not unicodedata.combining(character))
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in kept)
