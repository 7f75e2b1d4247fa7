"""Compare the speed of deriving a language with a plain loop over words.

Targets: text with tags, names and links is transformed ten times as fast as by the loop, and seven times with opaque
words.

    python benchmarks/derivation.py [--lines N] [--loop-lines N] [--rounds N]

The loop reverses each sentence word by word, looks words up in a dictionary built beforehand, and updates names, word
positions and links. Its output must be identical. Both apply `invert,transliterate`, into another script or into opaque
words (`--to` selects one). The text is English UD sentences in `INTERLACE_DATA`, else random words, repeated up to
`--lines`; the loop gets the first `--loop-lines`, as its time is linear. Runs alternate on one thread; ratios are
medians of processor time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from functools import cache
from pathlib import Path
from unicodedata import category

import numpy as np
from _common import Target, report

from interlace.core.ragged import Ragged
from interlace.derived import Chain, DerivedText, chain
from interlace.readers import CHUNK
from interlace.readers.conllu import Conllu
from interlace.text import Text
from interlace.text.running import is_tight

MIN_RATIO = 10
LOOSE = frozenset(".!?\u2026\u203d")
MARKS = LOOSE | frozenset(
    "\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u3002\uff01\uff1f\uff0e\uff61"
)
CLOSERS = frozenset(
    letter for letter in map(chr, range(0x110000)) if category(letter) in {"Pe", "Pf", "Pi"}
) | {*"\"'"}


def text(lines: int) -> Text:
    """Return sentences with parts of speech; runs of proper nouns are names."""
    folder = os.environ.get("INTERLACE_DATA")
    if folder:
        path = Path(folder, "pos", "UD_English-EWT", "en_ewt-ud-train.conllu.gz")
        chunks = list(Conllu().read_chunks([path], ["en"]))
        known = Text(
            "en",
            [line for chunk in chunks for line in chunk.lines],
            Ragged.concatenate([chunk.words for chunk in chunks]),
            tags={"pos": [tags for chunk in chunks for tags in chunk.tags["pos"]]},
        )
    else:
        known = random_text()
    times = -(-lines // len(known))
    rows = np.tile(np.arange(len(known)), times)[:lines]
    names = [name_tags(tags) for tags in known.tags["pos"]]
    return Text(
        "en", [known.lines[row] for row in rows], known.words.take(rows), "conllu",
        tags={"pos": [list(known.tags["pos"][row]) for row in rows], "names": [list(names[row]) for row in rows]},
    )  # fmt: skip


def random_text() -> Text:
    """Return 10,000 lines of about 16 random words."""
    rng = np.random.default_rng(0)
    words = [
        "".join(rng.choice(list("abcdefghijklmnopqrst"), rng.integers(1, 10)))
        for _ in range(20_000)
    ]
    ranks = 1 / np.arange(1, len(words) + 1)
    lines = [
        " ".join([*rng.choice(words, rng.integers(5, 28), p=ranks / ranks.sum()), "."])
        for _ in range(10_000)
    ]
    made = Text.of(lines, "en")
    made.tags["pos"] = [
        ["PROPN" if len(word) > 7 else "X" for word in made.tokens(row)]
        for row in range(len(made))
    ]
    return made


def name_tags(tags: list[str]) -> list[str]:
    """Tag runs of proper nouns as names."""
    names = []
    for place, tag in enumerate(tags):
        before = place > 0 and tags[place - 1] == "PROPN"
        names.append("O" if tag != "PROPN" else "I-X" if before else "B-X")
    return names


def loop(given: Text, dictionary: dict[str, str]) -> DerivedText:
    """Transform text word by word."""
    lines, spans, places_of_words = [], [], []
    tags: dict[str, list[list[str]]] = {"pos": [], "names": []}
    for row, line in enumerate(given.lines):
        bounds = given.words[row].tolist()
        words = [line[start:end] for start, end in bounds]
        order = inverted_order(words, bounds)
        made, places, last = [line[: bounds[0][0]] if bounds else line], [], 0
        at = len(made[0])
        for place, word in enumerate(order):
            new = dictionary[words[word]]
            if place:
                left = order[0] if word == 0 else word
                gap = line[bounds[left - 1][1] : bounds[left][0]]
                gap = gap or ("" if needs_no_space(words, bounds, order, place) else " ")
                if (
                    not gap
                    and is_one_word(made[-1], new)
                    and not is_one_word(words[order[place - 1]], words[word])
                ):
                    gap = " "
                made.append(gap)
                at += len(gap)
            made.append(new)
            places.append((at, at + len(new)))
            at += len(new)
            last = bounds[-1][1]
        made.append(line[last:] if bounds else "")
        lines.append("".join(made))
        spans.append(places)
        places_of_words += np.argsort(order).tolist()
        tags["pos"].append([given.tags["pos"][row][word] for word in order])
        tags["names"].append(reordered_names(given.tags["names"][row], order))
    derived = Text("en", lines, Ragged.of(spans, width=2), given.word_tokenizer, tags=tags)
    return DerivedText(derived, np.array(places_of_words))


def inverted_order(words: list[str], bounds: list[list[int]]) -> list[int]:
    """Return the word at each position: reversed units of each sentence, with the final punctuation in place."""
    order: list[int] = []
    pieces: list[list[int]] = []
    ends = inside = (
        False  # whether the previous word ends a sentence, or is a mark inside of one
    )
    for place, word in enumerate(words):
        touches = place > 0 and bounds[place][0] == bounds[place - 1][1]
        mark = word[0] in MARKS and all(letter in MARKS for letter in word)
        closes = word[0] in CLOSERS and all(letter in CLOSERS for letter in word)
        at_end = (mark or closes) and is_at_end(words, bounds, place)
        abbreviates = (
            mark
            and at_end
            and bool(pieces)
            and is_abbreviation(words, bounds, place, pieces[-1])
        )
        joined = touches and (inside or abbreviates or (mark and not at_end and not ends))
        inside = not at_end and (mark or (closes and inside and touches))
        ends = at_end and not abbreviates and (mark or (closes and touches and ends))
        if ends:
            order += [inner for piece in reversed(pieces) for inner in piece] + [place]
            pieces = []
        elif joined:
            pieces[-1].append(place)
        else:
            pieces.append([place])
    return order + [inner for piece in reversed(pieces) for inner in piece]


def is_at_end(words: list[str], bounds: list[list[int]], place: int) -> bool:
    """Return whether no letter directly follows a mark or a closing quote."""
    while True:
        word = words[place]
        mark = all(letter in MARKS for letter in word)
        if not mark and not all(letter in CLOSERS for letter in word):
            return False
        if (mark and not LOOSE.issuperset(word)) or place + 1 == len(words):
            return True
        if bounds[place + 1][0] > bounds[place][1] or is_tight(words[place + 1][0]):
            return True
        place += 1


def is_abbreviation(
    words: list[str], bounds: list[list[int]], place: int, piece: list[int]
) -> bool:
    """Return whether a period ends an abbreviation such as `U.S.`"""
    letter = words[place - 1]
    return (
        words[place] == words[place - 2] == "."
        and bounds[place][0] == bounds[place - 1][1]
        and len(letter) == 1
        and letter.isalpha()
        and piece[-2:] == [place - 2, place - 1]
    )


def needs_no_space(
    words: list[str], bounds: list[list[int]], order: list[int], place: int
) -> bool:
    """Return whether two words that are adjacent now need no space between them."""
    before, word = order[place - 1], order[place]
    if word == before + 1:
        return True
    first, last = words[word][0], words[before][-1]
    if is_tight(first) and is_tight(last):
        return not (first in CLOSERS and (last in CLOSERS or last in MARKS))
    alone = before == 0 or bounds[before][0] > bounds[before - 1][1]
    return (
        word == place
        and first in MARKS
        and last.isalnum()
        and (alone or len(words[before]) > 1)
    )


def is_one_word(before: str, word: str) -> bool:
    """Return whether two strings without a space form one word; accents at the end of the first are ignored."""
    last = next((letter for letter in reversed(before) if not is_accent(letter)), before[0])
    return joins(word[0]) and joins(last)


@cache
def joins(letter: str) -> bool:
    return not is_tight(letter) and (category(letter)[0] in "LN" or is_accent(letter))


@cache
def is_accent(letter: str) -> bool:
    return category(letter)[0] == "M" or category(letter) == "Cf"


def reordered_names(tags: list[str], order: list[int]) -> list[str]:
    """Return IOB2 tags in the new order."""
    numbers, number = [], -1
    for tag in tags:
        number += tag[0] == "B"
        numbers.append(number if tag != "O" else -1)
    moved, before = [], -1
    for word in order:
        tag, own = tags[word], numbers[word]
        moved.append("O" if tag == "O" else ("I-" if own == before else "B-") + tag[2:])
        before = own
    return moved


def measure(given: Text, sample: Text, rounds: int) -> Target:
    """Time both, and check that their output is identical."""
    change = chain(["invert", "transliterate"])
    dictionary = dictionary_of(sample, change)
    change.apply(sample.where(np.arange(len(sample)) < 100))
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.process_time()
        derived = [
            change.apply(given.slice(row, row + CHUNK)) for row in range(0, len(given), CHUNK)
        ]
        ours.append((time.process_time() - start) / len(given))
        start = time.process_time()
        looped = loop(sample, dictionary)
        theirs.append((time.process_time() - start) / len(sample))
    check_identical(derived, looped)
    print(f"interlace: {statistics.median(ours) * len(given):.2f} s")
    print(
        f"loop over words: {statistics.median(theirs) * len(given):.2f} s (from {len(sample):,} lines)"
    )
    ratio = statistics.median(other / own for other, own in zip(theirs, ours, strict=True))
    return Target("times as fast as the loop", ratio, MIN_RATIO, at_least=True)


def dictionary_of(text: Text, change: Chain) -> dict[str, str]:
    """Return the output of the last transformation for each word."""
    types = sorted({word for row in range(len(text)) for word in text.tokens(row)})
    last = change.transformations[-1]
    return dict(zip(types, last.spellings(types), strict=True))


def check_identical(chunks: list[DerivedText], looped: DerivedText) -> None:
    """Exit if the first lines differ from the output of the loop."""
    for chunk, first in zip(chunks, range(0, len(looped.text), CHUNK), strict=False):
        expected = looped.text.slice(first, first + CHUNK)
        head = np.arange(len(chunk.text)) < len(expected)
        text = chunk.text.where(head)
        if (text.lines, text.words, text.tags) != (
            expected.lines,
            expected.words,
            expected.tags,
        ):
            raise SystemExit("the text of the loop differs")
        if chunk.links.take(head) != Ragged.concatenate(
            [looped.links.slice(first, first + len(expected))]
        ):
            raise SystemExit("the links of the loop differ")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--loop-lines", type=int, default=100_000, help="0: all lines")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    given = text(options.lines)
    sample = given.where(np.arange(len(given)) < (options.loop_lines or len(given)))
    print(f"{len(given):,} lines, {len(given.words.flat):,} words")
    return report([measure(given, sample, options.rounds)])


if __name__ == "__main__":
    sys.exit(main())
