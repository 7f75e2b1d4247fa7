"""Where in a line each subword begins, without asking the tokenizer for offsets (which costs a third of its time).

Written one after another, the subwords of a line spell the line, blanks apart. So each subword's place follows from the
lengths of those before it. Whether it does is checked character by character; a line for which it does not (an
unknown subword, a normaliser that rewrites) is reported, and its offsets are asked for.

Byte-level tokenizers spell bytes, all others characters; "units" below are either.

Legend: n lines; T subwords, C units of all lines; every line is followed by one line feed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.text.words._characters import code_points, is_space, line_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_BLANK, _LINE_FEED = 0x20, 0x0A
_NEVER = 0x10FFFF  # stands for a subword whose spelling is unknown: no line holds this noncharacter


@dataclass(frozen=True)
class Surfaces:
    """What each id of a vocabulary spells.

    spelled: a row an id of its units without blanks; bytes (uint8) or code points (uint32).
    """

    spelled: Ragged

    @property
    def by_bytes(self) -> bool:
        """Whether units are bytes."""
        return bool(self.spelled.values.dtype == np.uint8)


@dataclass(frozen=True)
class Units:
    """Lines as units.

    values: (C,) bytes or code points, each line followed by a line feed.
    starts: (n + 1,) where each line begins.
    characters: the unit at which each character begins, or None where units are characters.
    """

    values: NDArray[Any]
    starts: NDArray[np.int64]
    characters: NDArray[np.int64] | None
    character_starts: NDArray[np.int64]

    @classmethod
    def of(cls, lines: Sequence[str], *, by_bytes: bool) -> Units:
        """Units of all lines."""
        starts = line_starts(lines)
        points = code_points(lines)
        if not by_bytes or points.dtype == np.uint8:
            return cls(points, starts, None, starts)
        data = np.frombuffer("\n".join([*lines, ""]).encode("utf-8"), np.uint8)
        characters = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        return cls(data, characters[starts], characters, starts)

    def at(self, lines: NDArray[Any], characters: NDArray[Any]) -> NDArray[np.int64]:
        """The unit at which the given characters of the given lines begin."""
        places = self.character_starts[lines] + characters
        return np.asarray(places if self.characters is None else self.characters[places], np.int64)


def surfaces_of(tokenizer: Tokenizer) -> Surfaces:
    """Read off what every id spells."""
    state = json.loads(tokenizer.to_str())
    added = {token["id"]: token["content"] for token in state["added_tokens"]}
    by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])
    rows: list[Any] = [[]] * (max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1)
    clean = _cleaner(state["model"], by_bytes=by_bytes)
    for token, number in tokenizer.get_vocab(with_added_tokens=True).items():
        rows[number] = _units(added[number], by_bytes=by_bytes) if number in added else clean(token)
    unknown = tokenizer.token_to_id(state["model"].get("unk_token") or "")
    if unknown is None and state["model"].get("unk_id") is not None:
        unknown = state["model"]["unk_id"]
    if unknown is not None and not by_bytes:
        rows[unknown] = [_NEVER]
    return Surfaces(Ragged.of(rows, dtype=np.uint8 if by_bytes else np.uint32))


def first_units(surfaces: Surfaces, ids: Ragged, units: Units) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(T,) the unit at which each subword begins, and the lines that their subwords do not spell.

    A subword that spells nothing (a blank alone) begins where the next one does.
    """
    kept = _not_blank(surfaces, units)
    before = np.zeros(len(kept) + 1, np.int64)  # units kept before each unit
    np.cumsum(kept, out=before[1:])
    lengths = np.diff(surfaces.spelled.offsets)[ids.flat]
    spelled = np.zeros(len(lengths) + 1, np.int64)  # units spelled before each subword
    np.cumsum(lengths, out=spelled[1:])
    line_units = np.diff(before[units.starts])
    rows = ids.offsets - ids.offsets[0]
    good = line_units == np.diff(spelled[rows])
    good &= ~_differing(surfaces, ids, units, kept, good)
    shift = before[units.starts[:-1]] - spelled[rows[:-1]]  # between what lines hold and what their subwords spell
    places = np.append(np.flatnonzero(kept), len(kept) - 1)
    at = places[np.minimum(spelled[:-1] + np.repeat(shift, ids.lengths), len(places) - 1)]
    return at, np.flatnonzero(~good)


def _differing(
    surfaces: Surfaces, ids: Ragged, units: Units, kept: NDArray[np.bool_], candidates: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(n,) candidate lines, equally long when spelled, that are spelled otherwise."""
    differs = np.zeros(len(ids), np.bool_)
    found = units.values[kept]
    flat = ids.flat
    if not candidates.all():
        flat = flat[np.repeat(candidates, ids.lengths)]
        line_lengths = np.diff(units.starts)
        found = units.values[kept & np.repeat(candidates, line_lengths)]
    wrong = np.flatnonzero(surfaces.spelled.take(flat).values != found)
    if len(wrong):
        per_line = np.add.reduceat(kept, units.starts[:-1], dtype=np.int64) * candidates
        differs[np.searchsorted(np.cumsum(per_line), wrong, side="right")] = True
    return differs


def _not_blank(surfaces: Surfaces, units: Units) -> NDArray[np.bool_]:
    """(C,) units that subwords spell; only blanks are dropped from bytes, all white space from characters."""
    kept = units.values != _BLANK if surfaces.by_bytes else ~is_space(units.values)
    kept[units.starts[1:] - 1] = False
    return kept


def _cleaner(model: dict[str, Any], *, by_bytes: bool) -> Any:
    """A function from a token's name to the units it spells."""
    if by_bytes:
        return _byte_units
    prefix = model.get("continuing_subword_prefix") or ""
    suffix = model.get("end_of_word_suffix") or ""

    def clean(token: str) -> list[int]:
        if len(token) > len(prefix):
            token = token.removeprefix(prefix)
        return _units(token.removesuffix(suffix).replace("▁", ""), by_bytes=False)

    return clean


def _units(text: str, *, by_bytes: bool) -> list[int]:
    if by_bytes:
        return [byte for byte in text.encode("utf-8") if byte != _BLANK]
    return [ord(character) for character in text if not character.isspace()]


def _byte_units(token: str) -> list[int]:
    """Bytes of a byte-level token's name, blanks dropped; a name outside the alphabet spells itself."""
    try:
        return [byte for byte in map(BYTES.__getitem__, token) if byte != _BLANK]
    except KeyError:
        return _units(token, by_bytes=True)


def _byte_alphabet() -> dict[str, int]:
    """Byte-level character -> byte (Radford et al. 2019): printable Latin-1 is itself, the others follow from 256."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {
        chr(code): byte for code, byte in zip([*shown, *range(256, 256 + len(hidden))], [*shown, *hidden], strict=True)
    }


BYTES = _byte_alphabet()


def concatenated(rows: Iterable[Sequence[int]], total: int) -> NDArray[np.int32]:
    """Flat int32 from Python rows."""
    from itertools import chain

    return np.fromiter(chain.from_iterable(rows), np.int32, total)
