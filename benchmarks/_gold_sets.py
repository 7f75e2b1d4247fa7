"""Sets of gold word links, each with the text that aligners may learn from besides.

Gold text keeps its words; other text is split by the word tokenizer `unicode`. Files are in the folder of real data;
the toy corpus is written here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from interlace import toy as world
from interlace.alignment import WordPairs
from interlace.alignment.agreement import agreement
from interlace.alignment.formats import read_alignments
from interlace.alignment.gold_text import read_gold_text
from interlace.core.ragged import Ragged
from interlace.readers.lines import PlainLines
from interlace.readers.tsv import Tsv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.alignment.agreement import Agreement
    from interlace.text import TextPairs

WORLD_PAIRS = 8_000  # as many as a written toy corpus has


@dataclass(frozen=True)
class GoldSet:
    """Pairs to learn from, and gold links of the last of them.

    pairs: all pairs, those with gold links at the end. sure, possible: a row for each of these.
    """

    name: str
    pairs: WordPairs
    sure: Ragged
    possible: Ragged

    @property
    def extra(self) -> int:
        """Pairs without gold links."""
        return len(self.pairs) - len(self.sure)

    @property
    def own(self) -> WordPairs:
        """The pairs with gold links."""
        return self.pairs.slice(self.extra, len(self.pairs))

    def score(self, links: Ragged) -> Agreement:
        """How links of all pairs, or only of those with gold links, agree with these."""
        return agreement(links.slice(len(links) - len(self.sure), len(links)), self.sure, self.possible)

    def scores(self, links: Ragged) -> list[Agreement]:
        """The same for each pair."""
        first = len(links) - len(self.sure)
        return [
            agreement(
                links.slice(first + row, first + row + 1),
                *(side.slice(row, row + 1) for side in (self.sure, self.possible)),
            )
            for row in range(len(self.sure))
        ]


@dataclass(frozen=True)
class Files:
    """Where a set stands below the folder of real data.

    parts: files of text and the file of links, for each part of the set. captions, premises: whether aligners learn
    from Multi30k's captions and from the sentences that XNLI has in eleven languages.
    """

    languages: tuple[str, str]
    parts: tuple[tuple[tuple[str, ...], str], ...]
    captions: bool = False
    premises: bool = False

    def read(self, name: str, folder: Path) -> GoldSet:
        """Read all of it."""
        texts = []
        golds = []
        for text, links in self.parts:
            texts.append(read_gold_text(*(folder / "alignment" / file for file in text), languages=self.languages))
            golds.append(read_alignments(folder / "alignment" / links, texts[-1].lengths, texts[-1].numbers))
        pairs = WordPairs.of(chain(self._extra(folder), (text.pairs for text in texts)))
        sure, possible = (Ragged.concatenate([getattr(gold, kind) for gold in golds]) for kind in ("sure", "possible"))
        return GoldSet(name, pairs, sure, possible)

    def _extra(self, folder: Path) -> Iterator[TextPairs]:
        """Training text, without the pairs that have a side without words."""
        languages, text = list(self.languages), folder / "parallel"
        chunks: list[Iterator[TextPairs]] = []
        if self.captions:
            files = [text / "multi30k" / f"train.{language}.gz" for language in languages]
            chunks.append(PlainLines(word_tokenizer="unicode").read_chunks(files, languages))
        if self.premises:
            files = [text / "xnli-multiway" / f"xnli.11way.{split}.tsv.gz" for split in ("dev", "test")]
            chunks.append(Tsv(word_tokenizer="unicode").read_chunks(files, languages))
        for chunk in chain(*chunks):
            kept = chunk.where((chunk.source.words.lengths > 0) & (chunk.target.words.lengths > 0))
            # Words of two word tokenizers are counted together on purpose: that is how the peers' figures came about.
            sides = [replace(side, word_tokenizer="whitespace") for side in (kept.source, kept.target)]
            yield replace(kept, source=sides[0], target=sides[1])


def _jsonl(folder: str, name: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    files = [f"multi-jsonl/{folder}/{name}.{split}.jsonl" for split in ("train", "valid")]
    return tuple(((file,), file) for file in files)


def _story(source: str, target: str) -> tuple[tuple[str, ...], str]:
    folder = f"alibi-fr-en/{source}_{target}"
    return (f"{folder}/{source}_sents.txt", f"{folder}/{target}_sents.txt"), f"{folder}/ali_w2w_{source}_{target}.txt"


STORIES = (
    ("ChatBotte", "MasterCat"), ("LaBarbeBleue", "BlueBeard"), ("LaDerniereClasse", "TheLastLesson"),
    ("LaVision", "TheVision"),
)  # fmt: skip
GOLD = {
    "enfr": Files(("en", "fr"), ((("enfr.src-tgt",), "enfr.gold"),), captions=True),
    "fr-en": Files(("fr", "en"), tuple(_story(*story) for story in STORIES), captions=True, premises=True),
    "de-en": Files(
        ("de", "en"),
        ((("bicici-de-en/test.de", "bicici-de-en/test.en"), "bicici-de-en/de-en.wa"),),
        captions=True,
        premises=True,
    ),
    "en-es": Files(("en", "es"), _jsonl("en-es", "es_golden"), premises=True),
    "en-sv": Files(("en", "sv"), _jsonl("en-sv", "swedish")),
    "zhen": Files(("zh", "en"), ((("zhen.src-tgt",), "zhen.gold"),)),
    "en-hi": Files(
        ("en", "hi"),
        ((("wpt05-en-hi/test.eng", "wpt05-en-hi/test.hin"), "wpt05-en-hi/test.eng.hin.wa"),),
        premises=True,
    ),
}


def toy_corpus() -> Iterator[GoldSet]:
    """English and each other language of the toy corpus; all pairs have gold links, and all of those are sure."""
    scenes = world.sample(WORLD_PAIRS)
    for code in world.LANGUAGES.names():
        if code != "en":
            text = world.pairs("en", code, scenes)
            yield GoldSet(f"en-{code}", WordPairs.of([text]), text.links, text.links)
