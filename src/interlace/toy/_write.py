"""Write the toy corpus into a folder, each kind of data in the format that its readers expect.

Every list of scenes is drawn under a name of its own (`stream`), so a language more or less, or another size of one
kind, changes no other file. Held-out scenes are one list for all languages and kinds of plain sentence.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.text.lines import atomic_folder
from interlace.toy import _formats, language, links, sample
from interlace.toy._dictionary import entries
from interlace.toy._inference import inferences
from interlace.toy._paraphrases import paraphrases
from interlace.toy._questions import paragraph, passages
from interlace.toy._scenes import SPLITS
from interlace.toy._settings import PIVOT, stream
from interlace.toy._similarity import judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from interlace.toy._scenes import Scene
    from interlace.toy._settings import ToyCorpus
    from interlace.toy._tokens import Sentence

MARK = "world.json"
_XNLI = ("language", "gold_label", "sentence1", "sentence2", "pairID", "genre")
_HELD_OUT = ("dev", "test")


def write(world: ToyCorpus, into: Path) -> None:
    """What `interlace.toy.write_toy` promises."""
    if into.exists() and not (into.is_dir() and ((into / MARK).is_file() or not any(into.iterdir()))):
        raise DataError(f"{into}: holds something that is no toy corpus (no {MARK}); give a new folder")
    with atomic_folder(into) as folder:
        writer = _Writer(world, folder)
        writer.all()
        about = {"version": version(), "settings": world.dump(), "counts": writer.counts}
        (folder / MARK).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


@cache
def version() -> str:
    """What `interlace.toy.toy_version` promises."""
    digest = blake2b(digest_size=8)
    for source in sorted(files("interlace.toy").iterdir(), key=lambda entry: entry.name):
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return digest.hexdigest()


class _Writer:
    """Writes the kinds one after another and counts what it wrote, by the path of the file."""

    def __init__(self, world: ToyCorpus, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.counts: dict[str, int] = {}
        self.others = [code for code in world.languages if code != PIVOT]
        held_out = {
            split: sample(world.size("sentences", split), split, world.seed, habits=world.habits) for split in _HELD_OUT
        }
        self.held_out: dict[tuple[str, str], list[Sentence]] = {
            (split, code): _realised(code, scenes) for split, scenes in held_out.items() for code in world.languages
        }

    def all(self) -> None:
        """Every kind."""
        for code in self.world.languages:
            self._text(code)
            self._labelled(code)
            self._similarity(code, code)
        for code in self.others:
            self._similarity(PIVOT, code)
            self._parallel(code)
            self._dictionaries(code)
        self._side_by_side()
        for split in SPLITS:
            self._inference(split)
            self._paraphrases(split)
            self._questions(split)

    def _inference(self, split: str) -> None:
        pairs = inferences(self.world.size("nli", split), split, self.world.seed, self.world.habits)
        for code in self.world.languages:
            said = [_realised(code, [pair.premise, pair.hypothesis]) for pair in pairs]
            rows = [
                (code, pair.label, premise.text, hypothesis.text, str(number), "world")
                for number, (pair, (premise, hypothesis)) in enumerate(zip(pairs, said, strict=True), 1)
            ]
            self._file(f"nli/{split}.{code}.tsv", _formats.table(_XNLI, rows), len(rows))
            self._trees(f"nli/{split}.{code}", list(chain.from_iterable(said)))

    def _paraphrases(self, split: str) -> None:
        pairs = paraphrases(self.world.size("nli", split), split, self.world.seed, self.world.habits)
        for code in self.world.languages:
            said = [_realised(code, [pair.first, pair.second]) for pair in pairs]
            rows = [
                f"{first.text}\t{second.text}\t{pair.same:d}" for pair, (first, second) in zip(pairs, said, strict=True)
            ]
            self._file(f"pawsx/{split}-{code}.tsv", rows, len(rows))

    def _questions(self, split: str) -> None:
        count = self.world.size("questions", split)
        found = passages(count, split, self.world.seed, self.world.habits)
        for code in self.world.languages:
            paragraphs = [paragraph(passage, code, f"{split}-{number}") for number, passage in enumerate(found, 1)]
            self._json(f"qa/{split}.{code}.json", _formats.squad(paragraphs, "world"), count)

    def _text(self, code: str) -> None:
        for split in SPLITS:
            sentences = self._sentences("sentences", split, code, "text")
            self._file(f"text/{split}.{code}.txt", (sentence.text for sentence in sentences), len(sentences))
            self._trees(f"text/{split}.{code}", sentences)

    def _trees(self, name: str, sentences: Sequence[Sentence]) -> None:
        """The sentences of a plain file as CoNLL-U beside it, where that is asked for."""
        if self.world.trees:
            self._file(f"{name}.conllu", _formats.conllu(sentences, name.replace("/", "-")), len(sentences))

    def _labelled(self, code: str) -> None:
        for split in SPLITS:
            sentences = self._sentences("labelled", split, code, "labelled")
            self._file(f"pos/{split}.{code}.conllu", _formats.conllu(sentences, f"{code}-{split}"), len(sentences))
            self._file(f"ner/{split}.{code}.tsv", _formats.iob(sentences), len(sentences))

    def _parallel(self, code: str) -> None:
        for split in SPLITS:
            if split == "train":
                scenes = self._scenes("pairs", split, f"parallel/{PIVOT}-{code}")
                sides = [_realised(side, scenes) for side in (PIVOT, code)]
            else:
                sides = [self.held_out[split, side] for side in (PIVOT, code)]
            path = f"parallel/{split}.{PIVOT}-{code}"
            for side, sentences in zip((PIVOT, code), sides, strict=True):
                self._file(f"{path}.{side}", (sentence.text for sentence in sentences), len(sentences))
                self._file(f"{path}.{side}.tok", map(_formats.words, sentences), len(sentences))
            gold = [links(one, other) for one, other in zip(*sides, strict=True)]
            self._file(f"{path}.links", map(_formats.pharaoh, gold), len(gold))

    def _side_by_side(self) -> None:
        for split in _HELD_OUT:
            columns = [[sentence.text for sentence in self.held_out[split, code]] for code in self.world.languages]
            rows = list(zip(*columns, strict=True))
            self._file(f"parallel/{split}.tsv", _formats.table(self.world.languages, rows), len(rows))

    def _similarity(self, source: str, target: str) -> None:
        rows = judged(source, target)
        name = "-".join(dict.fromkeys((source, target)))
        self._file(f"similarity/{name}.tsv", _formats.table(("word 1", "word 2", "score"), rows), len(rows))

    def _dictionaries(self, code: str) -> None:
        for source, target in ((PIVOT, code), (code, PIVOT)):
            found = entries(source, target)
            self._file(f"dict/{source}-{target}.txt", map("\t".join, found), len(found))

    def _sentences(self, kind: str, split: str, code: str, name: str) -> list[Sentence]:
        """Training sentences from scenes of this language's own, or the held-out ones."""
        if split != "train":
            return self.held_out[split, code]
        return _realised(code, self._scenes(kind, split, f"{name}/{code}"))

    def _scenes(self, kind: str, split: str, name: str) -> list[Scene]:
        return sample(self.world.size(kind, split), split, self.world.seed, stream(name), self.world.habits)

    def _file(self, name: str, lines: Iterable[str], count: int) -> None:
        self._put(name, "".join(line + "\n" for line in lines), count)

    def _json(self, name: str, data: Any, count: int) -> None:
        self._put(name, json.dumps(data, ensure_ascii=False, indent=1) + "\n", count)

    def _put(self, name: str, content: str, count: int) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
        self.counts[name] = count


def _realised(code: str, scenes: Sequence[Scene]) -> list[Sentence]:
    member = language(code)
    return [member.realise(scene) for scene in scenes]
