"""The vocabulary: any fast Hugging Face tokenizer, or one trained here, with the word of each subword."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import Field
from tokenizers import Tokenizer, normalizers
from typing_extensions import TypedDict

from interlace.core.display import listed
from interlace.core.errors import DataError, nearest
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.json_files import JsonMapping, json_record, read_json
from interlace.core.ragged import AnyArray, IntArray, Ragged
from interlace.data import PairLayout
from interlace.data.encoding import BYTES, Encoder
from interlace.data.tokenizer_files import (
    find_tokenizer,
    role_config,
    special_tokens,
    tokenizer_errors,
)
from interlace.data.tokenizer_training import (
    ROLES,
    TokenizerKind,
    normalization_steps,
    sample_lines,
    train_tokenizer,
)
from interlace.data.translation_layouts import (
    LANGUAGE,
    LAYOUT_KEY,
    LAYOUTS,
    OURS,
    TranslationLayout,
    find_code,
)

if TYPE_CHECKING:
    from interlace.text.normalization import Normalization

_MAX_LINES = 2_000_000
# The parts of a tokenizer that determine ids.
_ID_PARTS = ("model", "normalizer", "pre_tokenizer", "added_tokens")
# Keys of a loaded configuration that describe how it was built; the saved tokenizer.json replaces them.
_REBUILT = {
    "tokenizer_class",
    "auto_map",
    "added_tokens_decoder",
    "fix_mistral_regex",
    "name_or_path",
    "backend",
}


@dataclass(frozen=True, eq=False)
class Origin:
    """How a vocabulary was made from another one, by which the embeddings of a checkpoint are made to fit.

    original_size: size of the original vocabulary.
    kept: (K,) the original ids of the ids 0 to K - 1.
    pieces: a row per new subword, which have the ids from K on, of the ids below K that spell it; empty if none can.
    """

    original_size: int
    kept: IntArray
    pieces: Ragged

    FILE = "origin.json"

    @classmethod
    def of(cls, size: int) -> Origin:
        """Return that of an unchanged vocabulary."""
        return cls(size, np.arange(size), Ragged.of([]))

    @property
    def base(self) -> int:
        """K, the first id of the new subwords."""
        return len(self.kept)

    @property
    def is_trimmed(self) -> bool:
        """Whether some ids were removed."""
        return self.base < self.original_size

    @property
    def size(self) -> int:
        """Size of the vocabulary."""
        return self.base + len(self.pieces)

    def save(self, folder: Path) -> None:
        """Write it into the folder of the tokenizer."""
        data: _StoredOrigin = {
            "original_size": self.original_size,
            "kept": self.kept.tolist(),
            "pieces": self.pieces.to_lists(),
        }
        (folder / self.FILE).write_text(json.dumps(data) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Origin:
        """Read the file of `save`."""
        data = read_json(folder / cls.FILE, _StoredOrigin)
        return cls(
            data["original_size"],
            np.array(data["kept"], np.int64),
            Ragged.of(data["pieces"], dtype=np.int32),
        )


_MAX_SIZE = 10**7
_Id = Annotated[int, Field(ge=0, lt=_MAX_SIZE)]


@json_record
class _StoredOrigin(TypedDict):
    original_size: _Id
    kept: list[_Id]
    pieces: list[list[_Id]]


class Frame(NamedTuple):
    """The ids of special tokens before and after a sentence."""

    before: tuple[int, ...]
    after: tuple[int, ...]


class Vocab(Encoder):
    """A tokenizer with its special tokens by role.

    size: one more than the highest id.
    special_ids: ids that are never predicted or drawn: the tokenizer's special tokens.
    regular_ids: ids of text: all that are neither special nor added.
    separator_ids: ids between the two sides of a row in the tokenizer's template.
    origin: how it was made from a checkpoint's vocabulary.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: Mapping[str, str],
        config: JsonMapping,
        name: str,
        origin: Origin | None = None,
    ) -> None:
        super().__init__(tokenizer)
        self.name = name
        self._special = dict(special)
        self._config = dict(config)
        self._ids: dict[str, int] = {}
        for role, token in special.items():
            number = tokenizer.token_to_id(token)
            if number is None:
                raise DataError(f"the special token {token!r} is not in the vocabulary")
            self._ids[role] = number
        added = tokenizer.get_added_tokens_decoder()
        ids = tokenizer.get_vocab(with_added_tokens=True).values()
        special_ids = {number for number, token in added.items() if token.special}
        special_ids.update(self._ids.values())
        self.size = max(ids) + 1
        if self.size > _MAX_SIZE:
            raise DataError(
                f"{name}: the tokenizer has the id {self.size - 1}; at most {_MAX_SIZE} ids are supported"
            )
        self.origin = origin or Origin.of(self.size)
        self.special_ids: IntArray = np.array(sorted(special_ids), np.int64)
        is_regular = np.zeros(self.size, np.bool_)
        is_regular[np.fromiter(ids, np.int64)] = True
        is_regular[[*added, *special_ids]] = False
        self.regular_ids: IntArray = np.flatnonzero(is_regular)
        self.separator_ids = self._separator()

    @classmethod
    def learn(
        cls,
        lines_by_language: Mapping[str, Iterable[str]],
        size: int,
        *,
        alpha: float = 0.5,
        kind: TokenizerKind = "byte-bpe",
    ) -> Vocab:
        """Train a vocabulary on several languages, whose lines are sampled with q ~ p^alpha.

        The sampling is Conneau & Lample's (2019, section 3.1). Each language is read once and at most two million of
        its lines are held in memory. Little text may give fewer subwords than `size`, which must hold the alphabet.
        """
        sampled = sample_lines(lines_by_language, alpha, _MAX_LINES)
        tokenizer = train_tokenizer(kind, size, sampled)
        return cls(
            tokenizer,
            ROLES,
            {},
            f"{kind} of {listed(lines_by_language)}",
        )

    @classmethod
    def load(cls, name: str | Path) -> Vocab:
        """Load a tokenizer from its folder or from the Hugging Face hub; a DataError says what is missing."""
        tokenizer, config = find_tokenizer(str(name))
        special = special_tokens(tokenizer, config)
        required = LAYOUTS[config.get(LAYOUT_KEY, OURS)].roles | {"pad"}
        missing = sorted(required - special.keys())
        if missing:
            raise DataError(
                f"tokenizer {str(name)!r} has no {' and no '.join(missing)} token; an encoder needs them"
            )
        return cls(
            tokenizer,
            special,
            config,
            str(name),
        )

    def with_normalization(self, normalization: Normalization) -> Vocab:
        """Return the vocabulary with lower-casing, accent removal and NFKC done by the tokenizer itself.

        Then text of tasks, and users of the exported tokenizer, get the normalization of the training text. The rules
        for Romanian letters apply to training text only, because a tokenizer does not know the language.
        """
        steps = normalization_steps(normalization)
        if not steps:
            return self
        tokenizer = Tokenizer.from_str(self.tokenizer.to_str())
        if tokenizer.normalizer is not None:
            steps.append(tokenizer.normalizer)
        tokenizer.normalizer = normalizers.Sequence(steps)
        return self.with_tokenizer(tokenizer, self.origin)

    def with_tokenizer(self, tokenizer: Tokenizer, origin: Origin) -> Vocab:
        """Return the vocabulary with a changed tokenizer that has the same special tokens."""
        return Vocab(
            tokenizer,
            self._special,
            self._config,
            self.name,
            origin,
        )

    def with_new_tokens(self, tokenizer: Tokenizer, pieces: Sequence[Sequence[int]]) -> Vocab:
        """Return the vocabulary with a tokenizer that has further tokens behind all of this one.

        pieces: for each of them the ids that spell it.
        """
        pieces = [*self.origin.pieces.to_lists(), *pieces]
        origin = replace(self.origin, pieces=Ragged.of(pieces, dtype=np.int32))
        return self.with_tokenizer(tokenizer, origin)

    def with_target_languages(self, languages: Sequence[str]) -> Vocab:
        """Return the vocabulary with a target-language token `<2de>` for each of `languages`, after all other ids.

        It is the first token that a translation model's decoder reads. It is a special added token, so that `decode`
        removes it and no objective predicts or draws it. Tokenizers of published translation models have their own.

        Raise a DataError if such a tokenizer lacks a language, or if another one does not append new tokens.
        """
        if self.layout is not LAYOUTS[OURS]:
            for language in languages:
                self.target(language)
            return self
        new_languages = [code for code in dict.fromkeys(languages) if code not in self.targets]
        names = [f"<2{code}>" for code in new_languages]
        if not names:
            return self
        tokenizer = Tokenizer.from_str(self.tokenizer.to_str())
        tokenizer.add_special_tokens(names)
        ids = [tokenizer.token_to_id(name) for name in names]
        if ids != list(range(self.size, self.size + len(names))):
            raise DataError(
                f"{self.name}: this tokenizer cannot be extended: {names[0]} gets the id {ids[0]}"
            )
        return self.with_new_tokens(tokenizer, [[] for _ in names])

    def save(self, folder: Path | str) -> None:
        """Write a folder that `Vocab.load` and `AutoTokenizer` open with the same ids; it must hold nothing else."""
        must_be_replaceable(
            folder,
            "tokenizer.json",
            "tokenizer",
            ["tokenizer_config.json", Origin.FILE],
        )
        with atomic_folder(folder) as partial:
            self.save_files(partial)

    def save_files(self, folder: Path) -> None:
        """Write the tokenizer's files into a folder with other files, such as a model's."""
        config = {key: value for key, value in self._config.items() if key not in _REBUILT}
        config |= role_config(self._special)
        # This class uses tokenizer.json as it is; model-specific ones build another tokenizer from its vocabulary.
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
        config["clean_up_tokenization_spaces"] = False
        config.setdefault("model_input_names", ["input_ids", "attention_mask"])
        self.tokenizer.save(str(folder / "tokenizer.json"))
        text = json.dumps(
            config,
            indent=2,
            ensure_ascii=False,
            sort_keys=True,
        )
        (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")

    @property
    def pad(self) -> int:
        """The id that pads rows."""
        return self._id("pad")

    @property
    def begin(self) -> int:
        """The id that begins a row (`cls`, else `bos`)."""
        return self._id("begin")

    @property
    def end(self) -> int:
        """The id that ends a row (`sep`, else `eos`)."""
        return self._id("end")

    @property
    def mask(self) -> int:
        """The id that replaces masked subwords."""
        return self._id("mask")

    @property
    def has_mask(self) -> bool:
        """Whether there is such an id."""
        return "mask" in self._ids

    @property
    def unk(self) -> int:
        """The id of text that the vocabulary cannot spell."""
        return self._id("unk")

    @property
    def pair_layout(self) -> PairLayout:
        """The layout of pairs that models of the vocabulary's family are trained with; XLM's if it was trained here."""
        # XLM's rows begin with the token that ends them
        if self.begin == self.end or self.begin in self.separator_ids:
            return "xlm"
        if len(self.separator_ids) > 1:
            return "roberta"
        if self._special["begin"] == ROLES["begin"]:
            return "xlm"
        return "bert"

    @property
    def layout(self) -> TranslationLayout:
        """Where models of the vocabulary read their languages."""
        return LAYOUTS[self._config.get(LAYOUT_KEY, OURS)]

    @cached_property
    def targets(self) -> dict[str, int]:
        """Language code -> id of its token, such as `<2de>` or `deu_Latn`, in order of ids."""
        targets: dict[str, int] = {}
        pattern = self.layout.code
        if pattern is None:
            return targets
        for number, token in sorted(self.tokenizer.get_added_tokens_decoder().items()):
            match = pattern.fullmatch(token.content)
            if match and token.special:
                targets[match[match.lastindex or 0]] = number
        return targets

    def target(self, language: str) -> tuple[int, ...]:
        """Return what a decoder reads before a sentence of a language; a DataError names the languages with a token."""
        return self._special_ids(self.layout.decoder, language)

    def frame(self, language: str) -> Frame:
        """Return what an encoder reads around a sentence of a language; a DataError names those with a token."""
        layout = self.layout
        return Frame(
            self._special_ids(layout.before, language),
            self._special_ids(layout.after, language),
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that determines ids: vocabularies with the same fingerprint encode every line alike."""
        # Scores of a unigram model are read back from JSON with a last digit that may differ.
        state = json.loads(
            self.tokenizer.to_str(), parse_float=lambda text: f"{float(text):.6g}"
        )
        parts = {key: state[key] for key in _ID_PARTS} | {"special": self._ids}
        data = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def __repr__(self) -> str:
        return f"Vocab({self.name!r}, size={self.size}, fingerprint={self.fingerprint[:8]})"

    def tokens(self, ids: Iterable[int] | AnyArray) -> list[str]:
        """Return readable subwords: `▁` for a blank, `<e0 a4>` for bytes that are not a whole character."""
        names = [
            self.tokenizer.id_to_token(int(number)) or f"<{int(number)}>" for number in ids
        ]
        if not self.surfaces.by_bytes:
            return names
        for index, name in enumerate(names):
            if BYTES.keys() >= set(name):
                data = bytes(BYTES[character] for character in name)
                try:
                    names[index] = data.decode("utf-8").replace(" ", "▁")
                except UnicodeDecodeError:
                    names[index] = f"<{data.hex(' ')}>"
        return names

    def decode(self, ids: Iterable[int] | AnyArray) -> str:
        """Return the text of subwords without special tokens."""
        numbers = [int(number) for number in ids]
        with tokenizer_errors(self.name):
            return str(self.tokenizer.decode(numbers, skip_special_tokens=True))

    def _id(self, role: str) -> int:
        if role not in self._ids:
            raise DataError(
                f"tokenizer {self.name!r} has no {role} token, which is needed here"
            )
        return self._ids[role]

    def _special_ids(self, roles: Sequence[str], language: str) -> tuple[int, ...]:
        return tuple(
            self._language_id(language) if role == LANGUAGE else self._id(role)
            for role in roles
        )

    def _language_id(self, language: str) -> int:
        code: str | None = language
        if self.layout is not LAYOUTS[OURS]:
            code = find_code(language, self.targets)
        if code not in self.targets:
            names = {*self.targets, *(target.partition("_")[0] for target in self.targets)}
            raise DataError(
                f"the vocabulary has no target-language token for {language!r}; it has them for "
                f"{listed(self.targets) or 'no language'}{nearest(language, names)}"
            )
        return self.targets[code]

    def _separator(self) -> tuple[int, ...]:
        """Return the ids that the template puts between two sides; one end token if it has no template for pairs."""
        row = self.tokenizer.encode("a", "b")
        sides = row.sequence_ids
        if 0 not in sides or 1 not in sides:
            return (self.end,)
        last_of_source = len(sides) - sides[::-1].index(0)
        return tuple(row.ids[last_of_source : sides.index(1)]) or (self.end,)
