"""From lines to subwords with the word of each.

To know the word of a subword one needs its position in the line. Asking the tokenizer for offsets takes half of its
time. But the subwords of a line, concatenated, usually spell the line without its white space, so the position of each
follows from the characters that begin in those before it. This is checked for every line; lines for which it does not
hold (an unknown subword, a normalizer that rewrites) are encoded again with offsets.

Shapes: n lines; T subwords, C characters, W words of all lines; each line is followed by a line feed; V ids.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
from tokenizers import Encoding, Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import ByteLevel

from interlace.core.json_files import JsonObject
from interlace.core.ragged import BoolArray, Int32Array, IntArray, Ragged
from interlace.data import Sentences
from interlace.data.tokenizer_files import tokenizer_errors
from interlace.text import Text
from interlace.text.characters import code_points, is_space, line_starts
from interlace.text.scripts import is_unspaced

_MAX_ODD_LINES = 0.2  # share of lines encoded twice above which offsets are used from the start
_THREADS = 2  # one converts to arrays while the tokenizer encodes the next chunk
_ROUNDS = 8  # a second encoding usually settles a line; each further one makes at least one cut
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # the bytes of UTF-8 inside of a character
_UNKNOWN = b"\xff"  # the spelling of unknown text, which no line has
_NO_CHARACTER = "\U0010ffff"  # a noncharacter, which no text spells


def _byte_alphabet() -> dict[str, int]:
    """Byte-level character -> byte (Radford et al. 2019): printable Latin-1 is itself, the others follow from 256."""
    characters = set(ByteLevel.alphabet())
    alphabet: dict[str, int] = {}
    substitute = 256
    for byte in range(256):
        if chr(byte) in characters:
            alphabet[chr(byte)] = byte
        else:
            alphabet[chr(substitute)] = byte
            substitute += 1
    return alphabet


BYTES = _byte_alphabet()


@dataclass(frozen=True)
class Surfaces:
    """The spelling of each id of a vocabulary.

    spellings: UTF-8 without blanks. by_bytes: whether subwords are bytes, also parts of a character.
    """

    spellings: list[bytes]
    by_bytes: bool

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Surfaces:
        """Return the spelling of every id of a tokenizer."""
        state = json.loads(tokenizer.to_str())
        model = state["model"]
        by_bytes = '"ByteLevel"' in json.dumps(state["pre_tokenizer"])
        added_ids = {token["id"] for token in state["added_tokens"]}
        ids = tokenizer.get_vocab(with_added_tokens=True)
        spellings = [b""] * (max(ids.values(), default=-1) + 1)
        for token, number in ids.items():
            if by_bytes and number not in added_ids and BYTES.keys() >= set(token):
                spelling = bytes(BYTES[character] for character in token)
                spellings[number] = spelling.replace(b" ", b"")
            elif by_bytes or number in added_ids:
                spellings[number] = _without_blanks(token, by_bytes=by_bytes)
            else:
                spellings[number] = _without_blanks(_bare(token, model), by_bytes=False)
        unknown = tokenizer.token_to_id(model.get("unk_token") or "")
        if unknown is None:
            unknown = model.get("unk_id")
        if unknown is not None and not by_bytes:
            spellings[unknown] = _UNKNOWN
        return cls(spellings, by_bytes)

    @cached_property
    def is_blank(self) -> BoolArray:
        """(V,) whether a subword is only white space."""
        return np.array([not spelling for spelling in self.spellings], np.bool_)

    @cached_property
    def characters(self) -> IntArray:
        """(V,) number of characters that begin in a subword."""
        beginnings = (spelling.translate(None, _CONTINUATIONS) for spelling in self.spellings)
        return np.fromiter(map(len, beginnings), np.int64, len(self.spellings))

    @cached_property
    def begins_inside(self) -> BoolArray:
        """(V,) whether a subword begins inside of a character."""
        begins = [spelling[:1] in _CONTINUATIONS for spelling in self.spellings]
        return np.array(begins) & ~self.is_blank

    def spell(self, lines: Sequence[str], ids: Ragged) -> BoolArray:
        """(n,) whether the subwords of a line spell it."""
        spelled = [self.spellings[number] for number in ids.flat.tolist()]
        offsets = ids.offsets - ids.offsets[0]
        bounds = pairwise(offsets.tolist())
        is_spelled = []
        for line, (start, end) in zip(lines, bounds, strict=True):
            text = _without_blanks(line, by_bytes=self.by_bytes)
            spelling = b"".join(spelled[start:end])
            is_spelled.append(spelling == text)
        return np.array(is_spelled, np.bool_)


def _without_blanks(text: str, *, by_bytes: bool) -> bytes:
    """Return UTF-8 without blanks; subwords of bytes spell other white space."""
    if by_bytes:
        return text.replace(" ", "").encode()
    return "".join(text.split()).encode()


def _bare(token: str, model: JsonObject) -> str:
    """Return a token without the marks of its place in a word, such as `##`."""
    prefix = model.get("continuing_subword_prefix") or ""
    if len(token) > len(prefix):
        token = token.removeprefix(prefix)
    return token.removesuffix(model.get("end_of_word_suffix") or "").replace("▁", "")


class Encoder:
    """A fast tokenizer that gives the word of each subword.

    Text is text: a special token that a line spells, such as `</s>`, is encoded by ordinary subwords.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer

    @cached_property
    def surfaces(self) -> Surfaces:
        """The spelling of each id."""
        return Surfaces.of(self.tokenizer)

    def encode(
        self,
        lines: Sequence[str],
        word_tokenizer: str = "whitespace",
        language: str = "",
    ) -> Sentences:
        """Return the subwords of plain lines and the word of each, as `encode_text`; checks as `check_lines`."""
        return self.encode_text(Text.of(lines, language, word_tokenizer))

    def encode_text(self, text: Text) -> Sentences:
        """Return the subwords of a text's lines and the word of each.

        A subword belongs to the word of its first non-space character; if that is outside of all words, or the subword
        is white space only, to the next word of the line; if none follows, to the last word; on a line without words,
        to none (-1).
        """
        sentences, _ = self._by_spelling(text)
        return sentences

    def encode_texts(self, texts: Iterable[Text]) -> Iterator[Sentences]:
        """Yield the same for each chunk; threads encode the next ones meanwhile."""
        encode = self._by_spelling
        pending: deque[Future[tuple[Sentences, int]]] = deque()
        with ThreadPoolExecutor(_THREADS, "encode") as pool:
            for text in chain(texts, [None]):
                if text is not None:
                    pending.append(pool.submit(encode, text))
                while len(pending) > _THREADS or (text is None and pending):
                    sentences, odd_lines = pending.popleft().result()
                    if odd_lines > _MAX_ODD_LINES * len(sentences):
                        encode = self._by_offsets
                    yield sentences

    def encode_with_offsets(self, text: Text) -> tuple[Sentences, Ragged]:
        """Return the subwords, and a row per line of their (start, end) characters without white space around.

        Subwords that share a character (bytes of a letter) each have all of it. A subword of white space starts where
        the next one does and ends where the previous one does, at or before its start.
        """
        ids, characters = self._with_offsets(text.lines)
        first_characters = line_starts(text.lines)
        starts = first_characters[ids.rows()] + characters[:, 0]
        sentences = _sentences(text, ids, starts)
        return sentences, Ragged(characters, ids.offsets)

    def encode_words(self, words: Sequence[str]) -> Ragged:
        """Return a row per word of its subwords inside a line, after another word and a blank.

        A blank that is a subword of its own belongs to the word, unless the word's script has no spaces.
        """
        lines: list[str] = []
        spans: list[list[tuple[int, int]]] = []  # of `a` and the word
        unspaced = np.zeros(len(words), np.bool_)
        for number, word in enumerate(words):
            line = f"a {word}"
            lines.append(line)
            spans.append([(0, 1)])
            if word:
                spans[-1].append((2, len(line)))
                unspaced[number] = is_unspaced(word[0])
        text = Text("", lines, Ragged.of(spans, width=2))
        sentences = self.encode_text(text)
        ids = sentences.ids.flat
        rows = sentences.ids.rows()
        is_removed = self.surfaces.is_blank[ids] & unspaced[rows]
        of_word = (sentences.words.flat == 1) & ~is_removed
        lengths = np.bincount(rows[of_word], minlength=len(lines))
        return Ragged.from_lengths(ids[of_word], lengths)

    def encode_words_apart(self, text: Text, rounds: int = _ROUNDS) -> Sentences:
        """Return the subwords of each line, encoded so that no subword holds the beginning of two words.

        In scripts without spaces, and with clitics, a subword often runs over the border of two gold words; the second
        word would then have no subword to be tagged by. Only in this case the line is cut before that word and its
        parts are encoded separately, as word-by-word tokenization always does. Other lines keep the ids of the plain
        line. With the subwords `d` `on't` of the words `do` and `n't`, the second word has none: `do` and `n't` are
        encoded apart.

        rounds: how often parts are cut again.
        """
        sentences = self.encode_text(text)
        is_cut = _begins_inside_subword(text, sentences)
        lines = np.unique(text.words.rows()[is_cut])
        if not len(lines) or not rounds:
            return sentences
        marks = Ragged(is_cut, text.words.offsets - text.words.offsets[0])
        cut_lines = self._encode_cut(text.take(lines), marks.take(lines), rounds)
        order = np.arange(len(text))
        order[lines] = len(text) + np.arange(len(lines))
        return Sentences.concatenate([sentences, cut_lines]).take(order)

    def _encode_cut(self, text: Text, is_cut: Ragged, rounds: int) -> Sentences:
        """Return the lines, encoded in parts that are cut before the marked words of each."""
        parts: list[str] = []
        part_spans: list[Int32Array] = []
        words_before: list[int] = []  # of its line, for each part
        for line, spans, marks in zip(text.lines, text.words, is_cut, strict=True):
            cuts = np.flatnonzero(marks)
            starts = [0, *spans[cuts, 0].tolist()]
            ends = [*starts[1:], len(line)]
            words_before += [0, *cuts.tolist()]
            for start, end, inner_spans in zip(
                starts, ends, np.split(spans, cuts), strict=True
            ):
                parts.append(line[start:end])
                part_spans.append(inner_spans - start)
        words = Ragged.from_lengths(np.concatenate(part_spans), map(len, part_spans))
        text_of_parts = Text(
            text.language,
            parts,
            words,
            text.word_tokenizer,
        )
        encoded = self.encode_words_apart(text_of_parts, rounds - 1)

        words_of_line = np.array(words_before, np.int32)
        line_of_part = np.cumsum(words_of_line == 0) - 1
        shifts = np.repeat(words_of_line, encoded.lengths)  # (T,)
        # Many tokenizers insert a blank before every line; as a subword of its own it is removed inside a line.
        is_blank = self.surfaces.is_blank[encoded.ids.flat]
        is_inserted = is_blank & (encoded.ids.columns() == 0) & (shifts > 0)
        ids = encoded.ids.flat[~is_inserted]
        word_numbers = encoded.words.flat + shifts
        line_of_subword = line_of_part[encoded.ids.rows()]
        lengths = np.bincount(line_of_subword[~is_inserted], minlength=len(text))
        return Sentences(
            Ragged.from_lengths(ids, lengths),
            Ragged.from_lengths(word_numbers[~is_inserted], lengths),
            text.language,
        )

    def _by_spelling(self, text: Text) -> tuple[Sentences, int]:
        """Return the subwords of lines, and the number of lines that were encoded again with offsets."""
        ids = _ids(self._encodings(text.lines, offsets=False))
        is_spelled = self.surfaces.spell(text.lines, ids)
        odd_lines = np.flatnonzero(~is_spelled)
        starts = _first_characters(self.surfaces, ids, text.lines)
        if len(odd_lines):
            lines = [text.lines[line] for line in odd_lines]
            odd_ids, characters = self._with_offsets(lines)
            line_of_subword = odd_lines[odd_ids.rows()]
            odd_starts = line_starts(text.lines)[line_of_subword]
            is_odd = ~is_spelled[ids.rows()]
            starts[is_odd] = odd_starts + characters[:, 0]
        return _sentences(text, ids, starts), len(odd_lines)

    def _by_offsets(self, text: Text) -> tuple[Sentences, int]:
        """Return the same, with offsets at once."""
        sentences, _ = self.encode_with_offsets(text)
        return sentences, 0

    def _with_offsets(self, lines: Sequence[str]) -> tuple[Ragged, Int32Array]:
        """Return the ids of lines, and (T, 2) the characters of each subword, as `encode_with_offsets`."""
        encodings = self._encodings(lines, offsets=True)
        ids = _ids(encodings)
        bounds = chain.from_iterable(row.offsets for row in encodings)
        numbers = chain.from_iterable(bounds)
        spans = np.fromiter(numbers, np.int64, 2 * len(ids.flat))
        spans = spans.reshape(-1, 2)
        # Offsets do not tell white space: tokenizers that insert a blank before a line place it on its first character.
        is_blank = self.surfaces.is_blank[ids.flat]
        spans[is_blank, 1] = spans[is_blank, 0]
        return ids, _trimmed(spans, ids.rows(), lines)

    def _encodings(self, lines: Sequence[str], *, offsets: bool) -> list[Encoding]:
        """Return the encodings of lines; without `offsets`, those are undefined, which is faster."""
        if offsets:
            encode = self.tokenizer.encode_batch
        else:
            encode = self.tokenizer.encode_batch_fast
        with tokenizer_errors():
            encodings = encode(lines, add_special_tokens=False)
            for number, line in enumerate(lines):
                if self._special_pieces and self._spells_special(line, encodings[number]):
                    encodings[number] = self._unmatched.encode(line, add_special_tokens=False)
        return encodings

    def _spells_special(self, line: str, encoding: Encoding) -> bool:
        """Whether a line spells special tokens; that of unknown text also stands for other text."""
        for number in self._special_pieces.intersection(encoding.ids):
            is_unknown = self.surfaces.spellings[number] == _UNKNOWN
            if not is_unknown or str(self.tokenizer.id_to_token(number)) in line:
                return True
        return False

    @cached_property
    def _special_pieces(self) -> set[int]:
        """The ids of special tokens that text could spell, because they are pieces of a Unigram model."""
        if not isinstance(self.tokenizer.model, Unigram):
            return set()
        added = self.tokenizer.get_added_tokens_decoder()
        return {number for number, token in added.items() if token.special}

    @cached_property
    def _unmatched(self) -> Tokenizer:
        """The same tokenizer for text, without templates, in which no text can spell a special token."""
        state = json.loads(self.tokenizer.to_str())
        pieces = state["model"]["vocab"]
        text_tokens = []
        for token in state["added_tokens"]:
            if not token["special"]:
                text_tokens.append(token)
            elif token["id"] < len(pieces):
                pieces[token["id"]][0] = f"{_NO_CHARACTER}{token['content']}"
        state["added_tokens"] = text_tokens
        state["post_processor"] = None
        return Tokenizer.from_str(json.dumps(state))


def subwords_in_span(characters: Ragged, rows: IntArray, spans: Int32Array) -> Int32Array:
    """(q, 2) first and last subword with characters of a span of a line; (-1, -1) if there is none.

    characters: as returned by `Encoder.encode_with_offsets`. rows: (q,) the line of each span. spans: (q, 2) start and
    end characters; a negative start means no span.
    """
    subword_spans = np.full((len(rows), 2), -1, np.int32)
    for number, row in enumerate(rows):
        starts = characters[row][:, 0]
        ends = characters[row][:, 1]
        start, end = spans[number]
        inside = np.flatnonzero((ends > start) & (starts < end))
        if len(inside):
            subword_spans[number] = inside[[0, -1]]
    return subword_spans


def _begins_inside_subword(text: Text, sentences: Sentences) -> BoolArray:
    """(W,) whether a word has no subword, and directly follows another word, whose subword it begins in."""
    spans = text.words.flat  # (W, 2)
    line_of_word = text.words.rows()  # (W,)
    is_same_line = line_of_word[1:] == line_of_word[:-1]
    is_without_space = spans[1:, 0] == spans[:-1, 1]
    touches = np.zeros(len(spans), np.bool_)  # whether a word directly follows another
    touches[1:] = is_same_line & is_without_space
    first_words = text.words.offsets[:-1] - text.words.offsets[0]  # (n,)
    words = sentences.words.flat  # (T,)
    word_numbers = words + np.repeat(first_words, sentences.lengths)
    has_subword = np.zeros(len(spans), np.bool_)
    has_subword[word_numbers[words >= 0]] = True
    return touches & ~has_subword


def _ids(encodings: list[Encoding]) -> Ragged:
    rows = [encoding.ids for encoding in encodings]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    numbers = chain.from_iterable(rows)
    values = np.fromiter(numbers, np.int32, int(lengths.sum()))
    return Ragged.from_lengths(values, lengths)


def _sentences(text: Text, ids: Ragged, starts: IntArray) -> Sentences:
    """Return sentences of subwords with the given first character, (T,), in the concatenated lines.

    Words never begin or end with white space, so the word of a subword's first non-space character is the word that
    contains its *first* character, or else the next one.
    """
    first_characters = line_starts(text.lines)
    line_starts_of_words = first_characters[text.words.rows()]  # (W,)
    word_ends = line_starts_of_words + text.words.flat[:, 1]
    words_ended = np.zeros(first_characters[-1] + 1, np.int32)
    words_ended[word_ends] = 1
    # (C + 1,) words that end at or before each character
    np.cumsum(words_ended, out=words_ended)
    word_counts = text.words.lengths
    stops = np.cumsum(word_counts)
    first_words = np.repeat(stops - word_counts, ids.lengths)  # (T,) of the line
    last_words = np.repeat(stops - 1, ids.lengths)
    numbers = np.clip(words_ended[starts], first_words, last_words)
    numbers -= first_words
    words = Ragged(numbers.astype(np.int32), ids.offsets)
    return Sentences(
        ids,
        words,
        text.language,
        word_counts,
    )


def _first_characters(surfaces: Surfaces, ids: Ragged, lines: Sequence[str]) -> IntArray:
    """(T,) the first character of each subword, of blanks that of the next, in lines that their subwords spell.

    The subwords `▁the` `▁c` `at` of `the cat` begin before 3, 1 and 2 of the 6 spelled characters, so after 0, 3 and 4
    of them: at the characters 0, 4 and 5 of the line.
    """
    points = code_points(lines)
    is_spelled = points != ord(" ") if surfaces.by_bytes else ~is_space(points)  # (C,)
    starts = line_starts(lines)
    is_spelled[starts[1:] - 1] = False
    spelled_before = np.zeros(len(points) + 1, np.int64)  # each character
    np.cumsum(is_spelled, out=spelled_before[1:])
    # characters that begin in earlier subwords
    begun_before = np.zeros(len(ids.flat) + 1, np.int64)
    np.cumsum(surfaces.characters[ids.flat], out=begun_before[1:])
    # of each line: spelled characters before it, minus those of the subwords before it
    first_subwords = ids.offsets[:-1] - ids.offsets[0]
    shifts = spelled_before[starts[:-1]] - begun_before[first_subwords]
    # (T,) the number of each subword's first character among the spelled ones
    numbers = begun_before[:-1] - surfaces.begins_inside[ids.flat]
    numbers += np.repeat(shifts, ids.lengths)
    positions: IntArray = np.flatnonzero(is_spelled)
    positions = np.append(positions, len(points) - 1)  # of blanks at the end
    numbers = np.minimum(numbers, len(positions) - 1)
    return positions[numbers]


def _trimmed(spans: IntArray, rows: IntArray, lines: Sequence[str]) -> Int32Array:
    """(T, 2) spans of characters of the given lines without white space around.

    The span 1 to 5 of `a cd ` becomes 2 to 4.
    """
    spaces = is_space(code_points(lines))
    positions = np.arange(len(spaces))
    # (C,) the first non-space character at or after each
    candidates = np.where(spaces, len(spaces), positions)
    backwards = np.minimum.accumulate(candidates[::-1])
    next_character = backwards[::-1]
    # (C + 1,) the end of the last non-space character before each
    ends = np.where(spaces, 0, positions + 1)
    previous_end = np.zeros(len(spaces) + 1, np.int64)
    np.maximum.accumulate(ends, out=previous_end[1:])
    starts = line_starts(lines)
    line_start = starts[rows]
    line_end = starts[rows + 1] - 1  # without its line feed
    first = next_character[line_start + spans[:, 0]]
    end = previous_end[line_start + spans[:, 1]]
    trimmed = np.empty(spans.shape, np.int32)
    trimmed[:, 0] = np.minimum(first, line_end) - line_start
    trimmed[:, 1] = np.maximum(end, line_start) - line_start
    return trimmed
