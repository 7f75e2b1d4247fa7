"""Measure bitext mining: F1 on parallel text with distractors, and the time of the search.

    INTERLACE_DATA=FOLDER python benchmarks/bitext_mining.py --model MODEL [--languages de,es] [--rows 6000]

A set is made of XNLI's parallel sentences: a third of the rows is in both texts, a third in the English text alone, and
a third in the other one alone, in random order. F1 is that of the pairs above a threshold: the default, and the best
one of the development set, whose rows are others. The search compares random vectors; its time grows with the product
of both numbers of lines.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
from _common import environment

from interlace.cli.mine import DEFAULT_THRESHOLD
from interlace.core.neighbors import Neighbors, nearest_both_ways, unit
from interlace.core.randomness import Purpose, generator
from interlace.experiments.mining import CHUNK, EncodedLines, MinedPairs, Strategy, mine
from interlace.experiments.sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

K = 4
WIDTH = 384


def mixed_texts(
    split: str, language: str, max_rows: int
) -> tuple[list[str], list[str], set[tuple[str, str]]]:
    """Return English lines, lines of another language, and the pairs that are translations."""
    path = Path(
        os.environ["INTERLACE_DATA"], f"parallel/xnli-multiway/xnli.11way.{split}.tsv.gz"
    )
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    table = csv.DictReader(io.StringIO(text, "\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    unique: dict[str, str] = {}
    for row in table:
        if row["en"].strip() and row[language].strip():
            unique.setdefault(row["en"].strip(), row[language].strip())
    rows = list(
        {translation: (source, translation) for source, translation in unique.items()}.values()
    )
    order = generator(Purpose.SAMPLE, 0).permutation(len(rows))[:max_rows].tolist()
    third = len(order) // 3
    pairs = {rows[number] for number in order[:third]}
    source = [rows[number][0] for number in order[: 2 * third]]
    target = [rows[number][1] for number in [*order[:third], *order[2 * third :]]]
    return sorted(source), sorted(target), pairs


def f1_by_threshold(mined: MinedPairs, is_correct: Any, gold: int) -> tuple[Any, Any]:
    """Return the scores, and F1 in percent of all pairs with at least this score."""
    correct = np.cumsum(is_correct)
    return mined.scores, 200 * correct / (np.arange(1, len(correct) + 1) + gold)


def f1_at(scores: Any, f1: Any, threshold: float) -> float:
    count = int((scores >= threshold).sum())
    return float(f1[count - 1]) if count else 0.0


def curves(
    split: str, language: str, max_rows: int, encoder: SentenceEncoder
) -> dict[str, tuple[Any, Any]]:
    """Return scores and F1 by strategy."""
    source, target, gold = mixed_texts(split, language, max_rows)
    encoded = [
        EncodedLines.of(f"{split}.{name}", lines, name, encoder)
        for name, lines in (("en", source), (language, target))
    ]
    by_strategy = {}
    for strategy in get_args(Strategy):
        mined = mine(encoded[0], encoded[1], K, strategy)
        is_correct = [
            (source[i], target[j]) in gold
            for i, j in zip(mined.source, mined.target, strict=True)
        ]
        by_strategy[strategy] = f1_by_threshold(mined, is_correct, len(gold))
    return by_strategy


def quality(model: str, languages: Sequence[str], max_rows: int) -> None:
    encoder = SentenceEncoder(model)
    print(
        "F1, %: at the default threshold, at the best one of the development set, at the best one"
    )
    for language in languages:
        development = curves("dev", language, max_rows, encoder)
        test = curves("test", language, max_rows, encoder)
        for strategy, (scores, f1) in test.items():
            dev_scores, dev_f1 = development[strategy]
            threshold = float(dev_scores[dev_f1.argmax()])
            print(
                f"  {language}  {strategy:10} {f1_at(scores, f1, DEFAULT_THRESHOLD):5.1f}  "
                f"{f1_at(scores, f1, threshold):5.1f} ({threshold:.3f})  {f1.max():5.1f}",
                flush=True,
            )


def search_seconds(lines: int) -> float:
    """Return the processor time in which each of as many vectors finds its neighbors on both sides."""
    rng = generator(Purpose.SAMPLE, 1)
    sides = [unit(rng.standard_normal((lines, WIDTH), np.float32)) for _ in range(2)]
    start = time.process_time()
    for first in range(0, lines, CHUNK):
        backward: list[Neighbors] = []
        for other in range(0, lines, CHUNK):
            _, into = nearest_both_ways(
                sides[0][first : first + CHUNK], sides[1][other : other + CHUNK], K
            )
            backward.append(into)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--languages", default="de,es,hi,sw")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--lines", type=int, default=100_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment(), flush=True)
    quality(options.model, options.languages.split(","), options.rows)
    if options.lines:
        seconds = search_seconds(options.lines)
        million = seconds * (1_000_000 / options.lines) ** 2
        print(
            f"search, {options.lines:,} x {options.lines:,} vectors of {WIDTH}: {seconds:.0f} s on one core; "
            f"computed for 1,000,000 x 1,000,000: {million / 3600:.1f} h"
        )


if __name__ == "__main__":
    main()
