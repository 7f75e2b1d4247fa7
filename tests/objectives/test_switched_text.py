"""The text of a switched sentence is the text of its pieces, whatever subwords hold the borders of words."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from interlace.aligners import ALIGNERS
from interlace.alignment import WordPairs
from interlace.alignment.phrases import PhraseRules
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.corpus import ParallelCorpus
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.objectives.common.code_switched_text import LineWriter
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    WordForms,
    switch_phrases,
    switched_tokens,
)
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS

MIXED = CodeSwitching(source_share=0, target_share=0, switch_fraction=(0.3, 0.9))
KINDS = ("byte-bpe", "bpe", "wordpiece", "unigram", "word")

# Words are separated by spaces, or by | where the text has no space. Word i of a line translates word i of the English.
ENGLISH = [
    "we bought two old books|.",
    "old books lie on tables|.",
    "teachers read books on tables|.",
    "yesterday we read old books|.",
    "these tables are very old|.",
]
TRANSLATIONS = {
    "zh": ["我们|买了|两本|旧|书|。", "旧书|籍|在|桌子|上|。", "老师|看|书|在|桌子上|。", "昨天|我们|看了|旧|书|。",
           "这些|桌子|非|常|旧|。"],
    "ja": ["私は|買った|二冊|古い|本を|。", "古い本|が|ある|机|の上に|。", "先生は|読む|本を|机の|上で|。",
           "昨日|私は|読んだ|古い|本を|。", "この|机|は|とても|古い|。"],
    "th": ["เรา|ซื้อ|สองเล่ม|เก่า|หนังสือ|.", "หนังสือเก่า|เล่ม|อยู่|บน|โต๊ะ|.", "ครู|อ่าน|หนังสือ|บน|โต๊ะ|.",
           "เมื่อวาน|เรา|อ่าน|หนังสือ|เก่า|.", "โต๊ะ|ตัวนี้|เก่า|มาก|แล้ว|."],
    "hi": ["हमने खरीदीं दो पुरानी किताबें|।", "पुरानी किताबें रखी हैं मेज|।", "शिक्षक पढ़ते किताबें पर मेज|।",
           "कल हमने पढ़ीं पुरानी किताबें|।", "ये मेज हैं बहुत पुरानी|।"],
    "de": ["wir kauften zwei alte Bücher|.", "alte Bücher liegen auf Tischen|.", "Lehrer lesen Bücher auf Tischen|.",
           "gestern wir lasen alte Bücher|.", "diese Tische sind sehr alt|."],
}  # fmt: skip


def marked(lines, language):
    """Text of lines whose words are marked by spaces and |."""
    plain, spans = [], []
    for line in lines:
        text, row = "", []
        for word in line.replace(" ", " |").split("|"):
            row.append((len(text), len(text) + len(word.rstrip())))
            text += word
        plain.append(text)
        spans.append(row)
    return Text(language, plain, Ragged.of(spans, width=2), "by hand")


def by_hand(language):
    links = Ragged.of([[(word, word) for word in range(6)]] * len(ENGLISH), width=2)
    return TextPairs(marked(ENGLISH, "en"), marked(TRANSLATIONS[language], language), links)


def learned(text, kind, size):
    sides = (text.source, text.target)
    if kind == "word":
        runs = {run for side in sides for line in side.lines for run in line.split()}
        return Vocab(word_level_tokenizer(sorted(runs)), ROLES, {}, "words")
    return Vocab.learn({side.language: side.lines for side in sides}, size, kind=kind)


def spelled(vocab, ids):
    """The text of subwords without white space."""
    units = vocab.surfaces.spelled.take(ids).flat
    text = units.tobytes().decode() if vocab.surfaces.by_bytes else "".join(map(chr, units.tolist()))
    return squeezed(text)


def squeezed(text):
    return "".join(text.split())


def pieces_of(text, switched, row):
    """The text of each piece of a switched sentence, from the lines."""
    sides = (text.source, text.target)
    for side, line, start, stop in switched.pieces[row].tolist():
        first, last = sides[side].words[line][[start, stop - 1]]
        yield squeezed(sides[side].lines[line][first[0] : last[1]])


def compared(text, pairs, vocab, draws):
    """The number of switched sentences whose text, on the fly and offline, was compared with that of their pieces."""
    forms, writer, count = WordForms(vocab), LineWriter(text), 0
    candidates = SwitchCandidates.extracted(pairs, PhraseRules(), texts=forms.texts)
    normalizer = vocab.tokenizer.normalizer
    for seed in range(draws):
        switched = switch_phrases(candidates, MIXED, np.random.default_rng([7, seed]))
        sentences, lines = switched_tokens(pairs, switched, forms).sentences, writer.lines(switched)
        for row in np.flatnonzero(switched.replaced).tolist():
            pieces = list(pieces_of(text, switched, row))
            assert squeezed(lines[row]) == "".join(pieces)
            if vocab.unk not in sentences.ids[row]:
                normalized = pieces if normalizer is None else map(normalizer.normalize_str, pieces)
                assert spelled(vocab, sentences.ids[row]) == squeezed("".join(normalized))
                count += 1
    return count


def encoded(text, vocab):
    return Pairs(vocab.encode_text(text.source), vocab.encode_text(text.target), text.links)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", TRANSLATIONS)
def test_switched_text_is_that_of_its_pieces(language, kind):
    text, counts, joined = by_hand(language), [], 0
    smallest = 280 if kind == "byte-bpe" else 120
    for more in (0, 20, 60, 120):  # the more subwords, the more run over borders of words
        vocab = learned(text, kind, smallest + more)
        pairs = encoded(text, vocab)
        joined += len(pairs.target.joined.flat)
        counts.append(compared(text, pairs, vocab, draws=20))
    has_spaces = language in {"hi", "de"}
    assert counts[0] > 20 if has_spaces or kind != "word" else counts[0] == 0  # a whole sentence is one subword
    assert joined > 0 or has_spaces or kind == "wordpiece"


def test_joined_words_are_stored_with_a_corpus(tmp_path):
    text = by_hand("th")
    vocab = learned(text, "byte-bpe", 420)
    pairs = encoded(text, vocab)
    corpus = ParallelCorpus.write(
        tmp_path / "corpus", [pairs], languages=["en", "th"], vocab=vocab, word_tokenizer="by hand"
    )
    (whole,) = corpus.slices(10)
    taken = corpus.take([3, 1])
    for name in ("source", "target"):
        joined = getattr(pairs, name).joined
        assert getattr(whole, name).joined == joined
        assert getattr(taken, name).joined == joined.take([3, 1])
    assert len(pairs.target.joined.flat) > 3


def real_text(folder, language, count=200):
    """Real pairs of English and a language, with words of the language's own word tokenizer, aligned."""
    parallel = folder / "parallel"
    if language in {"ja", "th"}:
        code = {"ja": "jpn", "th": "tha"}[language]
        sides = []
        for name in ("eng", code):
            lines = (parallel / f"tatoeba/tatoeba.{code}-eng.{name}").read_text(encoding="utf-8").split("\n")
            sides.append(lines[:count])
    else:
        data = gzip.decompress((parallel / "xnli-multiway/xnli.11way.dev.tsv.gz").read_bytes()).decode()
        header, *rows = [line.split("\t") for line in data.split("\n")[: count + 1]]
        sides = [[row[header.index(code)] for row in rows] for code in ("en", language)]
    for package in WORD_TOKENIZERS.build("by_language").of(language).packages:
        pytest.importorskip(package)
    text = TextPairs.of(*sides, ("en", language), "by_language")
    words = WordPairs.of([text])
    return TextPairs(text.source, text.target, ALIGNERS.build("diagonal").fit(words).align(words).links)


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_real_switched_text_is_that_of_its_pieces(language, real_data):
    text = real_text(real_data, language)
    for kind in KINDS if language in {"hi", "de"} else KINDS[:-1]:  # a "word" of the others is a whole sentence
        vocab = learned(text, kind, 2500)
        assert compared(text, encoded(text, vocab), vocab, draws=2) > 20


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_switched_text_of_a_published_tokenizer(language, real_data):
    folder = Path(os.environ.get("INTERLACE_CHECKPOINT") or "missing")
    if not folder.is_dir():
        pytest.skip("INTERLACE_CHECKPOINT names no folder")
    vocab, text = Vocab.load(folder), real_text(real_data, language, 500)
    assert compared(text, encoded(text, vocab), vocab, draws=3) > 500
