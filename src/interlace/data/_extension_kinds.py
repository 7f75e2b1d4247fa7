"""How a subword is put into a tokenizer's own model: merges of BPE, pieces of WordPiece, scored pieces of Unigram."""

from __future__ import annotations

import json
import unicodedata
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.data._surfaces import BYTES

if TYPE_CHECKING:
    from interlace.data._continued_merges import Merge

BLANKS = "▁Ġ"  # how subwords say that a blank stands before them
_JOINERS = "\u200c\u200d"


def kind_of(state: dict[str, Any], where: str) -> Kind:
    """The way of a tokenizer's model, given as `tokenizers` writes it.

    Raises:
        DataError: a model that cannot grow.
    """
    name = state["model"]["type"]
    if name not in _KINDS:
        raise DataError(
            f"{where}: a {name} tokenizer cannot be extended ({', '.join(_KINDS)} can); learn a vocabulary instead"
        )
    return _KINDS[name](state)


class Kind(ABC):
    """A tokenizer's state, to which subwords are added in place."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self.model = state["model"]
        self.names = {number: token for token, number in self._own().items()}
        beside = {token["id"]: token["content"] for token in state["added_tokens"]}
        self.added = set(beside)
        # The ids of tokens beside a model follow from its size; inside it they stay where they are.
        for number, token in sorted(beside.items()):
            if number not in self.names:
                self._put(token, number)
        self.ids = {token: number for number, token in self.names.items()}
        self.by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])

    @abstractmethod
    def _own(self) -> dict[str, int]:
        """The model's vocabulary."""

    def _put(self, name: str, number: int) -> None:
        self.model["vocab"][name] = number
        self.names[number] = name

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        """Give a new subword its id; `merge` says of what it is made, none: it is a character."""
        del merge  # only some kinds have a use for it
        self._put(name, number)
        self.ids[name] = number

    @property
    def unknown(self) -> int | None:
        """The id of what cannot be spelt."""
        own: int | None = self.model.get("unk_id")
        return self.ids.get(self.model.get("unk_token") or "", own)

    def is_letter(self, character: str) -> bool:
        """Whether new subwords may hold the character."""
        return unicodedata.category(character)[0] in "LM" or character in _JOINERS

    def has(self, name: str) -> bool:
        """Whether there is such a subword."""
        return name in self.ids

    def text(self) -> str:
        """The tokenizer as `tokenizers` reads it."""
        return json.dumps(self.state, ensure_ascii=False)

    def forms(self, character: str) -> list[str]:
        """The subwords by which a character is spelt wherever it stands."""
        return [character]

    def joined(self, left: int, right: int) -> str | None:
        """The name of two subwords in one, or None where it would hold other things than letters."""
        first, second = self.names[left], self.names[right]
        name = first + self.inside(second)
        return name if self._is_letters(self.bare(name)) else None

    def inside(self, name: str) -> str:
        """A subword's name without what says that it goes on a word."""
        return name

    def bare(self, name: str) -> str:
        """A subword's name without all marks of its place."""
        return name.lstrip(BLANKS)

    def is_byte(self, number: int) -> bool:
        """Whether the subword stands for a byte of a character without a subword."""
        name = self.names.get(number, "")
        return len(name) == len("<0x00>") and name.startswith("<0x") and name.endswith(">")

    def _is_letters(self, name: str) -> bool:
        """Of bytes, those that make up whole characters are looked at."""
        if self.by_bytes and all(character in BYTES for character in name):
            name = bytes(BYTES[character] for character in name).decode("utf-8", "ignore")
        return all(self.is_letter(character) for character in name)


class _Bpe(Kind):
    def _own(self) -> dict[str, int]:
        return dict(self.model["vocab"])

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        super().add(name, number)
        if merge is not None:
            self.model["merges"].append([self.names[merge.left], self.names[merge.right]])

    def forms(self, character: str) -> list[str]:
        suffix, prefix = self.model.get("end_of_word_suffix"), self.model.get("continuing_subword_prefix")
        forms = [character, f"{prefix}{character}"] if prefix else [character]
        return [*forms, *(form + suffix for form in forms)] if suffix else forms

    def inside(self, name: str) -> str:
        return name.removeprefix(self.model.get("continuing_subword_prefix") or "")

    def bare(self, name: str) -> str:
        suffix = self.model.get("end_of_word_suffix") or ""
        return self.inside(name.lstrip(BLANKS)).removesuffix(suffix)


class _WordPiece(Kind):
    def _own(self) -> dict[str, int]:
        return dict(self.model["vocab"])

    def forms(self, character: str) -> list[str]:
        return [character, self.model["continuing_subword_prefix"] + character]

    def inside(self, name: str) -> str:
        return name.removeprefix(self.model["continuing_subword_prefix"])

    def bare(self, name: str) -> str:
        return self.inside(name)


class _Unigram(Kind):
    def _own(self) -> dict[str, int]:
        scores = [float(score) for _, score in self.model["vocab"]]
        self.lowest, self.highest = min(scores), max(scores)
        return {token: number for number, (token, _) in enumerate(self.model["vocab"])}

    def _put(self, name: str, number: int, score: float | None = None) -> None:
        entries = self.model["vocab"]
        while len(entries) < number:  # a gap between the ids of tokens beside the model
            entries.append([f"<unused{len(entries)}>", self.lowest])
        entries.append([name, self.lowest if score is None else score])
        self.names[number] = name

    def add(self, name: str, number: int, merge: Merge | None = None) -> None:
        score = self.lowest  # of a character: any will do, for nothing else spells it
        if merge is not None:
            left, right = (float(self.model["vocab"][part][1]) for part in (merge.left, merge.right))
            score = max(min(left + right + merge.lift, left, right), self.lowest)
        self._put(name, number, score)
        self.ids[name] = number


_KINDS: dict[str, type[Kind]] = {"BPE": _Bpe, "WordPiece": _WordPiece, "Unigram": _Unigram}
