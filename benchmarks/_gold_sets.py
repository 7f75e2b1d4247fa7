"""Gold word alignments of public sets and of the toy corpus, with additional training text.

Gold text keeps its words; other text is tokenized by `unicode`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from interlace.alignment import WordPairs
from interlace.alignment.agreement import agreement
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.core.ragged import Ragged
from interlace.readers.lines import PlainLines
from interlace.readers.tsv import Tsv
from interlace.toy import languages, sampling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.alignment.agreement import Agreement
    from interlace.text import TextPairs

TOY_PAIRS = 8_000  # the size of a written toy corpus


@dataclass(frozen=True)
class GoldSet:
    """Training pairs, of which the last ones have gold links (`sure` and `possible`)."""

    name: str
    pairs: WordPairs
    sure: Ragged
    possible: Ragged

    @property
    def extra(self) -> int:
        """The number of pairs without gold links."""
        return len(self.pairs) - len(self.sure)

    @property
    def gold_pairs(self) -> WordPairs:
        return self.pairs.slice(self.extra, len(self.pairs))

    def score(self, links: Ragged) -> Agreement:
        """Compare links of all pairs, or of the gold pairs only, with the gold links."""
        return agreement(
            links.slice(len(links) - len(self.sure), len(links)), self.sure, self.possible
        )

    def pair_scores(self, links: Ragged) -> list[Agreement]:
        """Compare the links of each gold pair."""
        first = len(links) - len(self.sure)
        return [
            agreement(
                links.slice(first + row, first + row + 1),
                *(side.slice(row, row + 1) for side in (self.sure, self.possible)),
            )
            for row in range(len(self.sure))
        ]


@dataclass(frozen=True)
class GoldFiles:
    """Paths of a set in the data folder.

    parts: files of text and the file of links, for each part of the set. captions, premises: train also on Multi30k's
    captions, or on XNLI's multiway sentences.
    """

    languages: tuple[str, str]
    parts: tuple[tuple[tuple[str, ...], str], ...]
    captions: bool = False
    premises: bool = False

    def read(self, name: str, folder: Path) -> GoldSet:
        texts = []
        golds = []
        for text, links in self.parts:
            texts.append(
                read_gold_text(
                    *(folder / "alignment" / file for file in text), languages=self.languages
                )
            )
            golds.append(
                read_alignments(
                    folder / "alignment" / links, texts[-1].lengths, texts[-1].numbers
                )
            )
        pairs = WordPairs.of(chain(self._extra(folder), (text.pairs for text in texts)))
        sure, possible = (
            Ragged.concatenate([getattr(gold, kind) for gold in golds])
            for kind in ("sure", "possible")
        )
        return GoldSet(name, pairs, sure, possible)

    def _extra(self, folder: Path) -> Iterator[TextPairs]:
        """Read additional training text, without pairs that have an empty side."""
        languages, text = list(self.languages), folder / "parallel"
        chunks: list[Iterator[TextPairs]] = []
        if self.captions:
            files = [text / "multi30k" / f"train.{language}.gz" for language in languages]
            chunks.append(PlainLines(word_tokenizer="unicode").read_chunks(files, languages))
        if self.premises:
            files = [
                text / "xnli-multiway" / f"xnli.11way.{split}.tsv.gz"
                for split in ("dev", "test")
            ]
            chunks.append(Tsv(word_tokenizer="unicode").read_chunks(files, languages))
        for chunk in chain(*chunks):
            kept = chunk.where(
                (chunk.source.words.lengths > 0) & (chunk.target.words.lengths > 0)
            )
            # The reference figures of fast_align and eflomal mix the words of both tokenizers, so do it here too.
            sides = [
                replace(side, word_tokenizer="whitespace")
                for side in (kept.source, kept.target)
            ]
            yield replace(kept, source=sides[0], target=sides[1])


def _jsonl(path: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    files = [f"multi-jsonl/{path}.{split}.jsonl" for split in ("train", "valid")]
    return tuple(((file,), file) for file in files)


def _story(source: str, target: str) -> tuple[tuple[str, ...], str]:
    folder = f"alibi-fr-en/{source}_{target}"
    return (
        f"{folder}/{source}_sents.txt",
        f"{folder}/{target}_sents.txt",
    ), f"{folder}/ali_w2w_{source}_{target}.txt"


STORIES = (
    ("ChatBotte", "MasterCat"), ("LaBarbeBleue", "BlueBeard"), ("LaDerniereClasse", "TheLastLesson"),
    ("LaVision", "TheVision"),
)  # fmt: skip
BICICI = (("bicici-de-en/test.de", "bicici-de-en/test.en"), "bicici-de-en/de-en.wa")
WPT05 = (("wpt05-en-hi/test.eng", "wpt05-en-hi/test.hin"), "wpt05-en-hi/test.eng.hin.wa")
GOLD = {
    "enfr": GoldFiles(("en", "fr"), ((("enfr.src-tgt",), "enfr.gold"),), captions=True),
    "fr-en": GoldFiles(
        ("fr", "en"), tuple(_story(*story) for story in STORIES), captions=True, premises=True
    ),
    "de-en": GoldFiles(("de", "en"), (BICICI,), captions=True, premises=True),
    "en-es": GoldFiles(("en", "es"), _jsonl("en-es/es_golden"), premises=True),
    "en-sv": GoldFiles(("en", "sv"), _jsonl("en-sv/swedish")),
    "zhen": GoldFiles(("zh", "en"), ((("zhen.src-tgt",), "zhen.gold"),)),
    "en-hi": GoldFiles(("en", "hi"), (WPT05,), premises=True),
}


def toy_corpus() -> Iterator[GoldSet]:
    """Yield English with each other language of the toy corpus; all its links are gold and sure."""
    scenes = sampling.sample(TOY_PAIRS)
    for code in languages.LANGUAGES.names():
        if code != "en":
            text = languages.pairs("en", code, scenes)
            yield GoldSet(f"en-{code}", WordPairs.of([text]), text.links, text.links)
