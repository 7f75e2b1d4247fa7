"""Find word links."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from interlace.cli import Code, load_plugins
from interlace.cli import _align_options as options

if TYPE_CHECKING:
    from interlace.aligners import Alignments, FittedAligner
    from interlace.alignment import WordPairs
    from interlace.cli._align_learning import Learning
    from interlace.cli._align_results import Results
    from interlace.cli._align_text import Source
    from interlace.core.progress import Progress


def align(
    source: options.SourceFile,
    target: options.TargetFile = None,
    name: options.With = "",
    changes: options.Changes = [],
    symmetrization: options.Symmetrization = "",
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "blanks",
    reader: options.ReaderName = "",
    extra: options.Extra = None,
    priors: options.Priors = None,
    use: options.Use = None,
    model: options.Model = None,
    gold: options.GoldFile = None,
    confidence: options.Confidence = None,
    figure: options.Figure = None,
    pair: options.PairNumber = 1,
    into: options.Into = None,
    code: Code = [],
    as_json: options.Summary = False,
) -> None:
    """Link the words of translations: a line such as `0-0 1-2` for every pair, words counted from 0."""
    load_plugins(code)
    from interlace.cli._align_learning import Learning
    from interlace.cli._align_results import Results
    from interlace.cli._align_text import Source
    from interlace.cli._options import parse_changes

    settings = parse_changes(changes, "key=value, such as seed=1") | (
        {"symmetrization": symmetrization} if symmetrization else {}
    )
    results = Results(into, confidence, figure, pair, gold, as_json)
    if use is None:
        learning = Learning.of(name, settings, priors, model)
    else:
        others = {
            "--with": name,
            "--set": changes,
            "--symmetrization": symmetrization,
            "--priors": priors,
            "--model": model,
        }
        learning = Learning.saved_in(use, {**others, "--extra": extra})
    text = Source.of([source] if target is None else [source, target], languages, reader, word_tokenizer)
    _run([text] if extra is None else [text, text.like(extra)], learning, results)


def _run(texts: Sequence[Source], learning: Learning, results: Results) -> None:
    """Read everything, check what can be checked, learn, and write link by link."""
    from interlace.cli._align_text import numbered
    from interlace.cli._progress import watching
    from interlace.core.progress import no_progress

    start = time.perf_counter()
    with TemporaryDirectory() as spool:
        with watching() as progress:
            words, rows = numbered(texts, Path(spool), progress)
            own = words.slice(0, rows)
            results.prepare(own, texts[0])
            fitted = learning.fit(words, progress)
        with (
            watching() if results.is_quiet else nullcontext(no_progress) as progress
        ):  # a bar would stand between links on a screen
            results.write(_linked(own, learning, fitted, progress))
    about = {"aligner": learning.aligner.name, "settings": learning.aligner.dump(), "pairs": rows}
    results.say({**about, "extra": len(words) - rows, "seconds": round(time.perf_counter() - start, 3)})


def _linked(
    words: WordPairs, learning: Learning, fitted: FittedAligner, progress: Progress
) -> Iterator[tuple[WordPairs, Alignments]]:
    for chunk in words.chunks():
        yield chunk, learning.links(fitted, chunk)
        progress("linking", chunk.first + len(chunk), len(words))
