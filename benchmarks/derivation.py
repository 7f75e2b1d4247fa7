"""Claim: text with tags, names and links is transformed into a derived language at least ten times as fast as by a
plain loop over words, and at least seven times with opaque words.

    python benchmarks/derivation.py [--lines N] [--loop-lines N] [--turns N] [--to script|ids]

The loop is the straightforward code: per line, each sentence is found and reversed word by word, each word is looked
up in a dictionary, names get new B- and I-, and the new positions of words are recorded with the links. It must
produce the same text. Both do `invert,transliterate`, with letters of another script and with opaque words (`--to`
selects one); the loop's dictionary is built beforehand. The text is English UD sentences where `INTERLACE_DATA` is
set, else random words, repeated up to `--lines`, of which the loop gets the first `--loop-lines`: its time grows
linearly. Both are timed in turn on one thread, in processor time; the ratio is the median over turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from functools import cache
from pathlib import Path
from unicodedata import category

import numpy as np

from interlace.core.ragged import Ragged
from interlace.derived import Chain, DerivedText, chain
from interlace.derived.common.texts import concatenated, unchanged
from interlace.readers.conllu import Conllu
from interlace.text import Text
from interlace.text.running import is_tight

FASTER = {"script": 10, "ids": 7}  # the claim
LOOSE = frozenset(".!?\u2026\u203d")
MARKS = LOOSE | frozenset("\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u3002\uff01\uff1f\uff0e\uff61")
CLOSERS = frozenset(letter for letter in map(chr, range(0x110000)) if category(letter) in {"Pe", "Pf", "Pi"}) | {*"\"'"}


def text(lines: int) -> Text:
    """Sentences with parts of speech, and names where proper nouns stand."""
    folder = os.environ.get("INTERLACE_DATA")
    if folder:
        path = Path(folder, "pos", "UD_English-EWT", "en_ewt-ud-train.conllu.gz")
        known = concatenated([unchanged(one) for one in Conllu().read_chunks([path], ["en"])]).text
    else:
        known = made_up()
    times = -(-lines // len(known))
    rows = np.tile(np.arange(len(known)), times)[:lines]
    names = [named(tags) for tags in known.tags["pos"]]
    return Text(
        "en", [known.lines[row] for row in rows], known.words.take(rows), "conllu",
        tags={"pos": [list(known.tags["pos"][row]) for row in rows], "names": [list(names[row]) for row in rows]},
    )  # fmt: skip


def made_up() -> Text:
    """Ten thousand lines of about sixteen made-up words."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrst"), rng.integers(1, 10))) for _ in range(20_000)]
    ranks = 1 / np.arange(1, len(words) + 1)
    lines = [" ".join([*rng.choice(words, rng.integers(5, 28), p=ranks / ranks.sum()), "."]) for _ in range(10_000)]
    made = Text.of(lines, "en")
    made.tags["pos"] = [["PROPN" if len(word) > 7 else "X" for word in made.tokens(row)] for row in range(len(made))]
    return made


def named(tags: list[str]) -> list[str]:
    """Runs of proper nouns as names."""
    names = []
    for place, tag in enumerate(tags):
        before = place > 0 and tags[place - 1] == "PROPN"
        names.append("O" if tag != "PROPN" else "I-X" if before else "B-X")
    return names


def plain(given: Text, dictionary: dict[str, str]) -> DerivedText:
    """The same by a loop over words."""
    lines, spans, links = [], [], []
    tags: dict[str, list[list[str]]] = {"pos": [], "names": []}
    for row, line in enumerate(given.lines):
        bounds = given.words[row].tolist()
        words = [line[start:end] for start, end in bounds]
        order = inverted(words, bounds)
        made, places, last = [line[: bounds[0][0]] if bounds else line], [], 0
        at = len(made[0])
        for place, word in enumerate(order):
            new = dictionary[words[word]]
            if place:
                left = order[0] if word == 0 else word
                gap = line[bounds[left - 1][1] : bounds[left][0]]
                gap = gap or ("" if may_touch(words, bounds, order, place) else " ")
                gap = gap or (" " if grow_together(words[order[place - 1]], words[word], made[-1], new) else "")
                made.append(gap)
                at += len(gap)
            made.append(new)
            places.append((at, at + len(new)))
            at += len(new)
            last = bounds[-1][1]
        made.append(line[last:] if bounds else "")
        lines.append("".join(made))
        spans.append(places)
        links.append(sorted((old, place) for place, old in enumerate(order)))
        tags["pos"].append([given.tags["pos"][row][word] for word in order])
        tags["names"].append(moved_names(given.tags["names"][row], order))
    words_now = Ragged.of(spans, width=2)
    return DerivedText(Text("en", lines, words_now, given.word_tokenizer, tags=tags), Ragged.of(links, width=2))


def inverted(words: list[str], bounds: list[list[int]]) -> list[int]:
    """The word at each place: sentence by sentence the last piece first, and the end mark where it is."""
    order: list[int] = []
    pieces: list[list[int]] = []
    ends = inside = False  # whether the word before ends a sentence, or is a mark that does not, or closes behind one
    for place, word in enumerate(words):
        touches = place > 0 and bounds[place][0] == bounds[place - 1][1]
        mark = word[0] in MARKS and all(letter in MARKS for letter in word)
        closes = word[0] in CLOSERS and all(letter in CLOSERS for letter in word)
        at_end = (mark or closes) and is_at_end(words, bounds, place)
        abbreviates = mark and at_end and bool(pieces) and short(words, bounds, place, pieces[-1])
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
    """Whether nothing that a sentence goes on with touches a mark, or what closes, from behind."""
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


def short(words: list[str], bounds: list[list[int]], place: int, piece: list[int]) -> bool:
    """Whether a period ends something like `U.S.`"""
    letter = words[place - 1]
    return (
        words[place] == words[place - 2] == "."
        and bounds[place][0] == bounds[place - 1][1]
        and len(letter) == 1
        and letter.isalpha()
        and piece[-2:] == [place - 2, place - 1]
    )


def may_touch(words: list[str], bounds: list[list[int]], order: list[int], place: int) -> bool:
    """Whether two words that have come together may do so without a blank."""
    before, word = order[place - 1], order[place]
    if word == before + 1:
        return True
    first, last = words[word][0], words[before][-1]
    if is_tight(first) and is_tight(last):
        return not (first in CLOSERS and (last in CLOSERS or last in MARKS))
    alone = before == 0 or bounds[before][0] > bounds[before - 1][1]
    return word == place and first in MARKS and last.isalnum() and (alone or len(words[before]) > 1)


def grow_together(before: str, word: str, new_before: str, new: str) -> bool:
    """Whether two words that touch are one as they are spelt now, and were not before."""
    return are_one(new_before, new) and not are_one(before, word)


def are_one(before: str, word: str) -> bool:
    """Whether a word goes on in another one; accents at the end of the first do not count."""
    last = next((letter for letter in reversed(before) if not is_accent(letter)), before[0])
    return goes_on(word[0]) and goes_on(last)


@cache
def goes_on(letter: str) -> bool:
    """Whether it is one of those that make one word together."""
    return not is_tight(letter) and (category(letter)[0] in "LN" or is_accent(letter))


@cache
def is_accent(letter: str) -> bool:
    """Whether it stands on the letter before it."""
    return category(letter)[0] == "M" or category(letter) == "Cf"


def moved_names(tags: list[str], order: list[int]) -> list[str]:
    """Names in their new order begin with B-."""
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


def measure(given: Text, sample: Text, to: str, turns: int) -> None:
    """Time both ways to change the words, and check that they make the same."""
    change = chain(["invert", {"name": "transliterate", "to": to}])
    dictionary = new_words(sample, change)
    change.apply(sample.where(np.arange(len(sample)) < 100))
    ours, theirs = [], []
    for _ in range(turns):
        start = time.process_time()
        derived = change.apply(given)
        ours.append((time.process_time() - start) / len(given))
        start = time.process_time()
        same = plain(sample, dictionary)
        theirs.append((time.process_time() - start) / len(sample))
    must_be_same(derived, same)
    ratio = statistics.median(their / own for their, own in zip(theirs, ours, strict=True))
    print(f"to {to}: {statistics.median(ours) * len(given):.2f} s")
    print(f"a plain loop: {statistics.median(theirs) * len(given):.2f} s (by {len(sample):,} lines)")
    print(f"{ratio:.1f} times as fast; at least {FASTER[to]} is claimed: {'holds' if ratio >= FASTER[to] else 'FAILS'}")


def new_words(text: Text, change: Chain) -> dict[str, str]:
    """What the last change makes of each word."""
    types = sorted({word for row in range(len(text)) for word in text.tokens(row)})
    last = change.transformations[-1]
    return dict(zip(types, last.spellings(types, last.key(0)), strict=True))


def must_be_same(ours: DerivedText, loop: DerivedText) -> None:
    """Stop where the loop made something else of the first lines."""
    head = np.arange(len(ours.text)) < len(loop.text)
    own = ours.text.where(head)
    if (own.lines, own.words, own.tags) != (loop.text.lines, loop.text.words, loop.text.tags):
        raise SystemExit("the loop made other text")
    if ours.links.take(head) != loop.links:
        raise SystemExit("the loop made other links")


def main() -> None:
    """Measure, check, and say whether the claim holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--loop-lines", type=int, default=100_000, help="0: all lines")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--to", choices=list(FASTER), help="one of them; both unless told")
    asked = parser.parse_args()
    given = text(asked.lines)
    sample = given.where(np.arange(len(given)) < (asked.loop_lines or len(given)))
    print(f"{len(given):,} lines, {len(given.words.flat):,} words")
    for to in [asked.to] if asked.to else FASTER:
        measure(given, sample, to, asked.turns)


if __name__ == "__main__":
    main()
