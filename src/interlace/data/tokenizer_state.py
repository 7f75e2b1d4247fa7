"""The state of a tokenizer as `tokenizers` serializes it, to add subwords to its model, or to remove some."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer

_BYTE = re.compile("<0x[0-9A-F]{2}>")  # a subword for a byte of a character without a subword


class TokenizerState:
    """A tokenizer's state, to whose model subwords are added in place, first the tokens outside of it.

    kind: of the model, such as `BPE`. prefix: of subwords inside of a word (`##`). suffix: of those that end it.
    ids, names: of all tokens. no_text: ids of added tokens, such as that of unknown text, and of bytes.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.state = json.loads(tokenizer.to_str())
        self.model = self.state["model"]
        self.kind: str = self.model["type"]
        self.prefix: str = self.model.get("continuing_subword_prefix") or ""
        self.suffix: str = self.model.get("end_of_word_suffix") or ""
        vocab = self.model["vocab"]
        if self.kind == "Unigram":
            self.ids = {token: number for number, (token, _) in enumerate(vocab)}
            self.min_score = min(score for _, score in vocab)
        else:
            self.ids = dict(vocab)
        self.names: dict[int, str] = {number: token for token, number in self.ids.items()}
        added = {token["id"]: token["content"] for token in self.state["added_tokens"]}
        self.no_text = set(added)
        for name in filter(_BYTE.fullmatch, self.ids):
            self.no_text.add(self.ids[name])
        # The ids of tokens outside the model follow from its size; inside it they do not change.
        for number, token in sorted(added.items()):
            if number not in self.names:
                self.add(token, number)

    @property
    def unknown(self) -> int | None:
        """The id of text without a subword; None where the model has none."""
        return self.model.get("unk_id", self.ids.get(self.model.get("unk_token")))

    def add(
        self,
        name: str,
        number: int,
        parts: tuple[int, int] | None = None,
    ) -> None:
        """Add a subword; `parts` are those that are merged, None for a character."""
        vocab = self.model["vocab"]
        if self.kind == "Unigram":
            while len(vocab) < number:  # a gap between the ids of tokens outside the model
                vocab.append([f"<unused{len(vocab)}>", self.min_score])
            # Any score will do for a character, because nothing else spells it.
            score = self.min_score
            if parts is not None:
                score = min(vocab[parts[0]][1], vocab[parts[1]][1])
            vocab.append([name, score])
        else:
            vocab[name] = number
        if parts is not None and "merges" in self.model:
            left, right = parts
            merge = [self.names[left], self.names[right]]
            self.model["merges"].append(merge)
        self.names[number] = name
        self.ids[name] = number

    def reduced(self, numbers: Sequence[int]) -> Tokenizer:
        """Return a tokenizer without all other tokens; `numbers` become the ids from 0 on.

        A merge stays if its parts and its result do. Added tokens and those of templates must stay.
        """
        new_ids = {self.names[number]: new for new, number in enumerate(numbers)}
        model = dict(self.model)
        if self.kind == "Unigram":
            pieces = self.model["vocab"]
            model["vocab"] = [pieces[number] for number in numbers]
            if self.unknown is not None:
                model["unk_id"] = new_ids[self.names[self.unknown]]
        else:
            model["vocab"] = new_ids
        if "merges" in model:
            merges = []
            for left, right in self.model["merges"]:
                if new_ids.keys() >= {left, right, self.merged(left, right)}:
                    merges.append([left, right])
            model["merges"] = merges
        added_tokens = []
        for token in self.state["added_tokens"]:
            added_tokens.append({**token, "id": new_ids[token["content"]]})
        processor = _renumbered(self.state["post_processor"], new_ids)
        state = {
            **self.state,
            "model": model,
            "added_tokens": added_tokens,
            "post_processor": processor,
        }
        return Tokenizer.from_str(json.dumps(state, ensure_ascii=False))

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of this state."""
        return Tokenizer.from_str(json.dumps(self.state, ensure_ascii=False))

    def forms(self, character: str) -> list[str]:
        """Return the subwords needed to spell a character in all positions."""
        forms = [character, self.prefix + character]
        at_end = [form + self.suffix for form in forms]
        distinct = dict.fromkeys([*forms, *at_end])
        return list(distinct)

    def merged(self, left: str, right: str) -> str:
        """Return the name of two subwords merged."""
        return left + right.removeprefix(self.prefix)


def _renumbered(part: Any, new_ids: Mapping[str, int]) -> Any:
    """Return a post-processor, or None, with new ids of the tokens that it adds."""
    if part is None:
        return None
    part = dict(part)
    if "processors" in part:
        part["processors"] = [_renumbered(inner, new_ids) for inner in part["processors"]]
    tokens = {}
    for name, token in part.get("special_tokens", {}).items():
        tokens[name] = {**token, "ids": [new_ids[content] for content in token["tokens"]]}
    if tokens:
        part["special_tokens"] = tokens
    for role in part.keys() & {"sep", "cls"}:
        name, _ = part[role]
        part[role] = [name, new_ids[name]]
    return part
