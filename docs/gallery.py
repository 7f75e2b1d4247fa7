"""Fill the folder of the gallery: figures of the demo's report, and an alignment matrix of the toy corpus.

    interlace demo -o runs/demo
    python docs/gallery.py runs/demo/report-figures

`docs/gallery.md` shows them.
"""

import shutil
import sys
from pathlib import Path

import interlace as il
from interlace.toy import languages, sampling

GALLERY = Path(__file__).parent / "_static" / "gallery"
OF_THE_REPORT = {
    "losses": "training-losses-1",
    "retrieval-in-training": "evaluation-during-training-7",
    "tagging": "scores-by-language-2",
    "retrieval": "scores-by-language-3",
    "words": "words-and-their-translations-7",
}
OWN = "alignment"


def alignment_matrix() -> str:
    """The links of a sentence pair of the toy corpus as SVG."""
    text = languages.pairs("en", "de", sampling.sample(1000))
    pairs = il.Pairs.from_lists(text.source.lines, text.target.lines, languages=("en", "de"))
    return str(il.align(pairs).plot(1).document())


if __name__ == "__main__":
    report = Path(sys.argv[1])
    GALLERY.mkdir(exist_ok=True)
    for name, figure in OF_THE_REPORT.items():
        shutil.copyfile(report / f"{figure}.svg", GALLERY / f"{name}.svg")
    (GALLERY / f"{OWN}.svg").write_text(alignment_matrix(), encoding="utf-8")
