"""The vocabulary: any Hugging Face tokenizer, or one learnt here, with the word of each subword. Free of torch."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import normalizers

from interlace.core.errors import DataError, did_you_mean
from interlace.data._encoding import encode_stream, encode_with_offsets, phrases_in_context, words_in_context
from interlace.data._hub import find_tokenizer
from interlace.data._kinds import ROLES, check_size, repeated, rewriting, sampled_lines, template, untrained
from interlace.data._special import role_config, special_tokens
from interlace.data._surfaces import BYTES, surfaces_of
from interlace.data._targets import targets_of, with_target_languages
from interlace.text import Text
from interlace.text.lines import atomic_folder, must_be_replaceable
from interlace.text.words import WORD_TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from interlace.core.ragged import Ragged
    from interlace.data import Sentences
    from interlace.data._kinds import Kind
    from interlace.data._surfaces import Surfaces
    from interlace.data.extension import Extension
    from interlace.text.normalise import Normalise
    from interlace.text.words import WordTokenizer

SAMPLE_LINES = 2_000_000
_DECIDE_IDS = ("model", "normalizer", "pre_tokenizer", "added_tokens")


class Vocab:
    """Subwords, their ids, and the special ones by role.

    size: one more than the highest id.
    special_ids: ids that are never predicted or drawn: the tokenizer's special tokens.
    regular_ids: ids that text is made of: everything that is neither special nor added.
    separator_ids: ids that stand between the two sides of a row, in the tokenizer's own template.
    extension: what it has beyond another vocabulary, by which a checkpoint's tables grow (`data.extension`).
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: Mapping[str, str],
        config: Mapping[str, Any],
        name: str,
        extension: Extension | None = None,
    ) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer
        self.name = name
        self.extension = extension
        self._special = dict(special)
        self._config = dict(config)
        self._ids = {role: _id_of(tokenizer, token) for role, token in special.items()}
        added = tokenizer.get_added_tokens_decoder()
        known = np.unique(np.fromiter(tokenizer.get_vocab(with_added_tokens=True).values(), np.int64))
        special_ids = {number for number, token in added.items() if token.special} | set(self._ids.values())
        self.size = int(known[-1]) + 1
        self.special_ids: NDArray[np.int64] = np.array(sorted(special_ids), np.int64)
        self.regular_ids: NDArray[np.int64] = np.setdiff1d(known, [*added, *special_ids])
        self.separator_ids = self._glue()

    @classmethod
    def learn(
        cls,
        lines_by_language: Mapping[str, Iterable[str]],
        size: int,
        *,
        alpha: float = 0.5,
        kind: Kind = "byte-bpe",
        sample_lines: int = SAMPLE_LINES,
        seed: int = 0,
    ) -> Vocab:
        """Learn one vocabulary over languages, whose lines are sampled with q ~ p^alpha.

        The sampling is Conneau & Lample's (2019, section 3.1). Each language is read once and at most `sample_lines`
        of its lines are held in memory. Little text may give fewer subwords than `size`.

        Raises:
            DataError: `size` does not hold the alphabet, or a language has no lines.
        """
        drawn = sampled_lines(lines_by_language, alpha, sample_lines, seed)
        check_size(kind, size, (line for _, lines, _ in drawn for line in lines))
        tokenizer, trainer = untrained(kind, size)
        tokenizer.train_from_iterator(repeated(drawn), trainer)
        tokenizer.post_processor = template()
        return cls(tokenizer, ROLES, {}, f"{kind} of {', '.join(lines_by_language)}")

    @classmethod
    def load(cls, name: str | Path) -> Vocab:
        """A tokenizer from its folder or from the Hugging Face hub.

        Raises:
            DataError: there is none, it is damaged, or it lacks the tokens that begin, end and pad a row.
        """
        tokenizer, config = find_tokenizer(str(name))
        special = special_tokens(tokenizer, config)
        if missing := [role for role in ("begin", "end", "pad") if role not in special]:
            raise DataError(f"tokenizer {str(name)!r} has no {' and no '.join(missing)} token; an encoder needs them")
        return cls(tokenizer, special, config, str(name))

    def with_normalization(self, normalise: Normalise) -> Vocab:
        """The same, with lower-casing, accent removal and NFKC done by the tokenizer itself.

        So text of tasks, and whoever opens the exported tokenizer, get what training text got. Romanian letters are a
        matter of one language, which a tokenizer does not know: they are rewritten in training text alone.
        """
        steps = rewriting(normalise)
        if not steps:
            return self
        tokenizer = type(self.tokenizer).from_str(self.tokenizer.to_str())
        own = tokenizer.normalizer
        tokenizer.normalizer = normalizers.Sequence([*steps, *([] if own is None else [own])])
        return Vocab(tokenizer, self._special, self._config, self.name, self.extension)

    def with_tokenizer(self, tokenizer: Tokenizer, extension: Extension) -> Vocab:
        """The same roles and configuration around a tokenizer with more subwords."""
        return Vocab(tokenizer, self._special, self._config, self.name, extension)

    def with_target_languages(self, languages: Sequence[str]) -> Vocab:
        """The same with a special subword `<2de>` for each of `languages` that has none yet, after all others.

        A translation model's decoder reads it first, and writes that language. `extension` tells of the new ones.

        Raises:
            DataError: the tokenizer does not number new subwords after its own.
        """
        new = [language for language in dict.fromkeys(languages) if language not in self.targets]
        return self.with_tokenizer(*with_target_languages(self, new)) if new else self

    def save(self, folder: Path | str) -> None:
        """Write a folder that `Vocab.load` and plain `AutoTokenizer.from_pretrained` open with the same ids.

        Raises:
            DataError: the folder holds something that is no tokenizer, or the disk is full.
        """
        must_be_replaceable(folder, "tokenizer.json", "tokenizer")
        with atomic_folder(folder) as partial:
            self.save_files(partial)

    def save_files(self, folder: Path) -> None:
        """Write the tokenizer's files into a folder that holds other things too, such as a model."""
        kept = {key: value for key, value in self._config.items() if key not in _REBUILT}
        config = {
            **kept,
            **role_config(self._special),
            # The class that takes tokenizer.json as it is; model-specific ones rebuild their own around its vocabulary.
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
        }
        config.setdefault("model_input_names", ["input_ids", "attention_mask"])
        self.tokenizer.save(str(folder / "tokenizer.json"))
        text = json.dumps(config, indent=2, ensure_ascii=False, sort_keys=True)
        (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")

    @property
    def pad(self) -> int:
        """Fills rows up."""
        return self._id("pad")

    @property
    def begin(self) -> int:
        """Begins a row (`cls`, else `bos`)."""
        return self._id("begin")

    @property
    def end(self) -> int:
        """Ends a row (`sep`, else `eos`)."""
        return self._id("end")

    @property
    def mask(self) -> int:
        """Stands in the place of masked subwords."""
        return self._id("mask")

    @property
    def unk(self) -> int:
        """Stands for what the vocabulary cannot spell."""
        return self._id("unk")

    @cached_property
    def targets(self) -> dict[str, int]:
        """Language -> id of the special subword that asks for it, `<2de>`; empty where there are none."""
        return targets_of(self.tokenizer)

    def target(self, language: str) -> int:
        """The special subword that asks for a language.

        Raises:
            DataError: there is none; names the languages that have one.
        """
        if language not in self.targets:
            there = f"it has them for {', '.join(self.targets)}" if self.targets else "it has none"
            hint = did_you_mean(language, self.targets)
            near = hint if "did you mean" in hint else ""  # they are all named before
            raise DataError(f"the vocabulary has no subword that asks for {language!r}; {there}{near}")
        return self.targets[language]

    @cached_property
    def fingerprint(self) -> str:
        """Two vocabularies with the same fingerprint give the same ids to every line, and the same special ids."""
        # Scores of a unigram model are read back from JSON with a last digit that may differ.
        state = json.loads(self.tokenizer.to_str(), parse_float=lambda text: f"{float(text):.6g}")
        parts = {key: state[key] for key in _DECIDE_IDS} | {"special": self._ids}
        data = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @cached_property
    def surfaces(self) -> Surfaces:
        """What each id spells."""
        return surfaces_of(self.tokenizer)

    def __repr__(self) -> str:
        return f"Vocab({self.name!r}, size={self.size}, fingerprint={self.fingerprint[:8]})"

    def tokens(self, ids: Iterable[int] | NDArray[Any]) -> list[str]:
        """Subwords as people read them: `▁` for a blank, `<e0 a4>` for bytes that are no whole character."""
        names = [self.tokenizer.id_to_token(int(number)) or f"<{int(number)}>" for number in ids]
        return [_readable(name) for name in names] if self.surfaces.by_bytes else names

    def decode(self, ids: Iterable[int] | NDArray[Any]) -> str:
        """Text of subwords, specials left out."""
        text: str = self.tokenizer.decode([int(number) for number in ids], skip_special_tokens=True)
        return text

    def encode(
        self, lines: Sequence[str], word_tokenizer: WordTokenizer | str = "blanks", language: str = ""
    ) -> Sentences:
        """Subwords of plain lines and the word of each, as `word_tokenizer` finds words; see `interlace.text.subwords`."""
        word_tokenizer = WORD_TOKENIZERS.build(word_tokenizer) if isinstance(word_tokenizer, str) else word_tokenizer
        return self.encode_text(
            Text(language, list(lines), word_tokenizer.of(language).split(lines), word_tokenizer.name)
        )

    def encode_text(self, text: Text) -> Sentences:
        """Subwords of a text's lines and which of its words each belongs to."""
        return next(encode_stream(self.tokenizer, self.surfaces, iter([text])))

    def encode_texts(self, texts: Iterable[Text]) -> Iterator[Sentences]:
        """The same for chunk after chunk; a thread encodes the next one while this one is turned into arrays."""
        return encode_stream(self.tokenizer, self.surfaces, iter(texts))

    def encode_with_offsets(self, text: Text) -> tuple[Sentences, Ragged]:
        """The same, and a row a line of the (start, end) characters of each subword, without white space around."""
        return encode_with_offsets(self.tokenizer, self.surfaces, text)

    def encode_words(self, words: Sequence[str]) -> Ragged:
        """A row a word of its subwords as they stand inside a line, after another word."""
        return words_in_context(self.tokenizer, self.surfaces, words)

    def encode_phrases(self, phrases: Text) -> Sentences:
        """The same for phrases, a line each that begins with its first word; with the word of each subword."""
        return phrases_in_context(self.tokenizer, self.surfaces, phrases)

    def _id(self, role: str) -> int:
        if role not in self._ids:
            raise DataError(f"tokenizer {self.name!r} has no {role} token, which is needed here")
        return self._ids[role]

    def _glue(self) -> tuple[int, ...]:
        """What the template puts between two sides; one end token where it has no template for pairs."""
        sides = (row := self.tokenizer.encode("a", "b")).sequence_ids
        if 0 in sides and 1 in sides:
            glue = tuple(row.ids[len(sides) - sides[::-1].index(0) : sides.index(1)])
            if glue:
                return glue
        return (self.end,)


_REBUILT = {"tokenizer_class", "auto_map", "added_tokens_decoder", "fix_mistral_regex", "name_or_path", "backend"}
"""Keys of a loaded configuration that describe how it was built, which tokenizer.json now says alone."""


def _id_of(tokenizer: Tokenizer, token: str) -> int:
    number: int | None = tokenizer.token_to_id(token)
    if number is None:
        raise DataError(f"the special token {token!r} is not in the vocabulary")
    return number


def _readable(name: str) -> str:
    """A byte-level name as text."""
    if not all(character in BYTES for character in name):
        return name
    data = bytes(BYTES[character] for character in name)
    try:
        return data.decode("utf-8").replace(" ", "▁")
    except UnicodeDecodeError:
        return f"<{data.hex(' ')}>"
