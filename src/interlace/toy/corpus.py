"""The toy corpus as files: each kind of data in a standard format.

Every list of scenes is drawn under a name of its own (`stream`), so adding a language or changing the size of one kind
changes no other file. Held-out scenes are one list for all languages and kinds of plain sentence.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from math import ceil
from pathlib import Path

from typing_extensions import TypedDict

from interlace.alignment.pharaoh import pharaoh_lines
from interlace.core.files import atomic_folder, must_be_replaceable
from interlace.core.json_files import json_record, read_json
from interlace.core.ragged import Ragged
from interlace.toy.concepts import NOUNS
from interlace.toy.languages import PIVOT, language, links, realize
from interlace.toy.sampling import sample, stream
from interlace.toy.scenes import SPLITS, Scene
from interlace.toy.sentences import ToySentence
from interlace.toy.settings import ToyCorpus

META = "toy.json"


@json_record
class _Record(TypedDict):
    """What is read of `toy.json`; counts: by the name of the file."""

    counts: dict[str, int]


def write_toy(toy: ToyCorpus, into: Path) -> None:
    """Write the files of a toy corpus into the folder `into`, which appears whole or not at all.

    The bytes are a pure function of the settings and the code. Only an older toy corpus at `into` is replaced.
    """
    older: _Record = read_json(into / META, _Record, {"counts": {}})
    must_be_replaceable(into, META, "toy corpus", older["counts"])
    with atomic_folder(into) as folder:
        writer = CorpusWriter(toy, folder)
        writer.write_all()
        about = {"settings": toy.dump(), "counts": writer.counts}
        (folder / META).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


class CorpusWriter:
    """Writes the kinds of data one after another.

    counts: number of items by file.
    """

    def __init__(self, toy: ToyCorpus, folder: Path) -> None:
        self.toy = toy
        self.folder = folder
        self.counts: dict[str, int] = {}
        self.held_out: dict[tuple[str, str], list[ToySentence]] = {}  # by split and language
        for split in ("dev", "test"):
            scenes = sample(toy.size("sentences", split), split, toy.seed, habits=toy.habits)
            for code in toy.languages:
                self.held_out[split, code] = realize(code, scenes)

    def write_all(self) -> None:
        """Write every kind of data."""
        for code in self.toy.languages:
            self._write_similarity(code, code, code)
            if code != PIVOT:
                self._write_similarity(PIVOT, code, f"{PIVOT}-{code}")
                self.write_parallel(code)
                self.write_dictionaries(code)
        for split in SPLITS:
            for code in self.toy.languages:
                self._write_text(split, code)
            if split != "train":
                columns = [_texts(self.held_out[split, code]) for code in self.toy.languages]
                self._write_table(
                    f"parallel/{split}.tsv", self.toy.languages, zip(*columns, strict=True)
                )
            self._write_inference(split)
            self._write_questions(split)

    def write_parallel(self, code: str) -> None:
        """Write translations of English and another language, as text and as words, with gold alignments."""
        pair = f"{PIVOT}-{code}"
        for split in SPLITS:
            path = f"parallel/{split}.{pair}"
            source = self._sentences("pairs", f"parallel/{pair}", split, PIVOT)
            target = self._sentences("pairs", f"parallel/{pair}", split, code)
            for side, sentences in ((PIVOT, source), (code, target)):
                words = [
                    " ".join(word.form for word in sentence.words) for sentence in sentences
                ]
                self._write(f"{path}.{side}", _texts(sentences))
                self._write(f"{path}.{side}.tok", words)
            gold = [links(*sides) for sides in zip(source, target, strict=True)]
            self._write(f"{path}.links", pharaoh_lines(Ragged.of(gold, width=2)))

    def write_dictionaries(self, code: str) -> None:
        """Write the bilingual dictionaries of English and another language, in both directions."""
        for source, target in ((PIVOT, code), (code, PIVOT)):
            self._write(
                f"dict/{source}-{target}.txt", map("\t".join, dictionary(source, target))
            )

    def _write_text(self, split: str, code: str) -> None:
        """Write plain text, and sentences with tags and names, in training from scenes of this language's own."""
        sentences = self._sentences("sentences", f"text/{code}", split, code)
        self._write(f"text/{split}.{code}.txt", _texts(sentences))
        self._write_trees(f"text/{split}.{code}", sentences)
        tagged = self._sentences("labelled", f"labelled/{code}", split, code)
        self._write(f"pos/{split}.{code}.conllu", _conllu(tagged, f"{code}-{split}"))
        names = []
        for sentence in tagged:
            rows = [f"{word.form}\t{word.name}\n" for word in sentence.words]
            names.append("".join(rows))
        self._write(f"ner/{split}.{code}.tsv", names)

    def _write_similarity(self, source: str, target: str, name: str) -> None:
        header = ("word 1", "word 2", "score")
        self._write_table(f"similarity/{name}.tsv", header, similarity(source, target))

    def _write_inference(self, split: str) -> None:
        from interlace.toy.inference import inferences

        pairs = inferences(self.toy.size("nli", split), split, self.toy.seed, self.toy.habits)
        # as XNLI
        header = (
            "language",
            "gold_label",
            "sentence1",
            "sentence2",
            "pairID",
            "genre",
        )
        for code in self.toy.languages:
            rows = []
            sentences: list[ToySentence] = []
            for number, pair in enumerate(pairs, 1):
                premise, hypothesis = realize(code, [pair.premise, pair.hypothesis])
                rows.append(
                    (code, pair.label, premise.text, hypothesis.text, str(number), "toy")
                )
                sentences += [premise, hypothesis]
            self._write_table(f"nli/{split}.{code}.tsv", header, rows)
            self._write_trees(f"nli/{split}.{code}", sentences)

    def _write_questions(self, split: str) -> None:
        from interlace.toy.questions import paragraph, passages

        count = self.toy.size("questions", split)
        drawn = passages(count, split, self.toy.seed, self.toy.habits)
        for code in self.toy.languages:
            paragraphs = []
            for number, passage in enumerate(drawn, 1):
                paragraphs.append(paragraph(passage, code, f"{split}-{number}"))
            squad = {"version": "1.1", "data": [{"title": "toy", "paragraphs": paragraphs}]}
            name = f"qa/{split}.{code}.json"
            self._write(name, [json.dumps(squad, ensure_ascii=False, indent=1)])
            self.counts[name] = count

    def _write_trees(self, name: str, sentences: Sequence[ToySentence]) -> None:
        if self.toy.trees:
            self._write(f"{name}.conllu", _conllu(sentences, name.replace("/", "-")))

    def _sentences(
        self,
        kind: str,
        stream_name: str,
        split: str,
        code: str,
    ) -> list[ToySentence]:
        """Return the sentences of a language: in training from the scenes of a stream, else the held-out ones."""
        if split != "train":
            return self.held_out[split, code]
        toy = self.toy
        scenes = sample(toy.size(kind, split), split, toy.seed, stream(stream_name), toy.habits)
        return realize(code, scenes)

    def _write_table(
        self, name: str, header: Sequence[str], rows: Iterable[Sequence[str]]
    ) -> None:
        """Write tab-separated lines under a header; no cell holds a tab, so nothing is quoted."""
        self._write(name, map("\t".join, [header, *rows]))
        self.counts[name] -= 1

    def _write(self, name: str, items: Iterable[str]) -> None:
        """Write items of one or several lines, and count them."""
        items = list(items)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        content = "".join(f"{item}\n" for item in items)
        path.write_text(content, encoding="utf-8", newline="\n")
        self.counts[name] = len(items)


def _texts(sentences: Sequence[ToySentence]) -> list[str]:
    return [sentence.text for sentence in sentences]


def _conllu(sentences: Sequence[ToySentence], prefix: str) -> list[str]:
    """Return each sentence as CoNLL-U: ID FORM LEMMA UPOS HEAD DEPREL, and SpaceAfter=No in MISC."""
    items = []
    for number, sentence in enumerate(sentences, 1):
        rows = [f"# sent_id = {prefix}-{number}\n# text = {sentence.text}\n"]
        starts = {word.start for word in sentence.words}
        for index, word in enumerate(sentence.words, 1):
            misc = "SpaceAfter=No" if word.end in starts else "_"
            tree = f"_\t_\t{word.head}\t{word.deprel}\t_"
            rows.append(f"{index}\t{word.form}\t{word.lemma}\t{word.upos}\t{tree}\t{misc}\n")
        items.append("".join(rows))
    return items


# ---- lexicons ----


def dictionary(source: str, target: str) -> list[tuple[str, str]]:
    """Return (source word, target word) pairs, sorted and distinct; a word may occur in several.

    Citation forms that are not a single word of any sentence ("look for", or infinitives where verbs are always
    inflected) are left out.
    """
    source_words = used_words(source)
    target_words = used_words(target)
    concepts = source_words.keys() & target_words.keys()
    return sorted({(source_words[concept], target_words[concept]) for concept in concepts})


def similarity(source: str, target: str) -> list[tuple[str, str, str]]:
    """Return (source word, target word, score) of nouns over all degrees of similarity; both may be one language.

    The score from 0 to 10 is the Jaccard similarity of tags, topics and hypernyms; at most 40 pairs of each tenth,
    evenly spaced. Nouns that are not a single word of any sentence are left out.
    """
    source_words = used_words(source)
    target_words = used_words(target)
    rows = []
    for first, second, score in _noun_pairs():
        source_word = source_words.get(first)
        target_word = target_words.get(second)
        if source_word and target_word and source_word != target_word:
            rows.append((source_word, target_word, f"{10 * score:.2f}"))
    return rows


@cache
def _noun_pairs() -> list[tuple[str, str, float]]:
    """Return pairs of noun concepts with their similarity, at most 40 for each tenth."""
    tenths: dict[int, list[tuple[str, str, float]]] = {}
    for first, second in combinations(NOUNS, 2):
        score = jaccard(first, second)
        tenths.setdefault(int(10 * score), []).append((first, second, score))
    chosen = []
    for _, pairs in sorted(tenths.items()):
        step = ceil(len(pairs) / 40)
        chosen += pairs[::step]
    return chosen


@cache
def used_words(code: str) -> dict[str, str]:
    """Return concept -> citation form of a language, of those forms that are a word of some sentence."""
    forms: set[str] = set()
    for sentence in realize(code, _many_scenes()):
        forms.update(word.form for word in sentence.words)
    return {concept: word for concept, word in language(code).words.items() if word in forms}


@cache
def _many_scenes() -> list[Scene]:
    """Return enough scenes for the citation form of every noun and adjective that occurs at all."""
    return sample(10_000)


def jaccard(first: str, second: str) -> float:
    """Return the Jaccard similarity of the tags, topics, names and hypernyms of two noun concepts."""
    first_properties = _properties(first)
    second_properties = _properties(second)
    return len(first_properties & second_properties) / len(first_properties | second_properties)


def _properties(noun: str) -> frozenset[str]:
    concept = NOUNS[noun]
    return concept.tags | concept.topics | {noun, concept.hypernym} - {""}
