"""A switched line is the text of its parts, and its tokens are those of the line, in every script and tokenizer."""

import numpy as np
import pytest

from interlace.alignment.phrases import phrase_pairs
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.tokenizer_training import ROLES, word_level_tokenizer
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common._code_switching_kernels import character_kind, needs_space
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    switch_phrases,
    switched_text,
)
from interlace.text import Text, TextPairs
from interlace.text.columns import TextColumns
from learned_vocabs import learned_vocab

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
    return learned_vocab({side.language: side.lines for side in sides}, size, kind)


def columns(text):
    return TextColumns.of(text.source), TextColumns.of(text.target)


def has_space_before(line, place):
    return line[:place] != line[:place].rstrip()


def by_loop(text, switched, row):
    """A switched line character by character: its text, its words, and the side of each word."""
    side = int(switched.matrix[row])
    own, other = (text.target, text.source) if side else (text.source, text.target)
    line, spans = own.lines[row], own.words[row].tolist()
    other_line, other_spans = other.lines[row], other.words[row].tolist()
    chosen = switched.exchanges.take(switched.exchanges.rows == row)
    exchanges = list(zip(chosen.replaced.tolist(), chosen.inserted.tolist(), strict=True))
    made, used = "", 0
    for (first, last), (start, stop) in exchanges:
        phrase = other_line[other_spans[start][0] : other_spans[stop - 1][1]]
        made += line[used : spans[first][0]]
        if first > 0:
            has_space = made != made.rstrip()
            kinds = (character_kind(made.rstrip()[-1]), character_kind(phrase[0]))
            phrase_has_space = start == 0 or has_space_before(other_line, other_spans[start][0])
            if has_space and not needs_space(True, phrase_has_space, *kinds):
                made = made.rstrip()
            elif not has_space and needs_space(False, phrase_has_space, *kinds):
                made += " "
        made += phrase
        used = spans[last - 1][1]
    words, sides = own.tokens(row), [side] * len(spans)
    for (first, last), (start, stop) in reversed(exchanges):
        words[first:last] = other.tokens(row)[start:stop]
        sides[first:last] = [1 - side] * (stop - start)
    return made + line[used:], words, sides


def sides_of_tokens(line, spans, sides, offsets):
    """The side of the word that holds the first character of each token that is no white space, or of the next word."""
    for start, end in offsets:
        place = next((at for at in range(start, end) if not line[at].isspace()), start)
        yield next(
            (side for (_, stop), side in zip(spans, sides, strict=True) if stop > place),
            sides[-1],
        )


def compared(text, vocab, draws):
    """Compare lines, words, tokens and languages with a loop and the tokenizer; return the number of mixed lines."""
    alm = Alm(max_length=512, masking={"rate": 0}, code_switching=MIXED)
    prepared = alm.prepare(Resources(vocab, Traits("bert", 512)))
    lengths = (text.source.words.lengths, text.target.words.lengths)
    phrases = phrase_pairs(*lengths, text.links)
    candidates = SwitchCandidates.of(columns(text), phrases)
    count = 0
    pairs = Pairs(
        vocab.encode_text(text.source),
        vocab.encode_text(text.target),
        phrases=phrases,
        text=columns(text),
    )
    for seed in range(draws):
        switched = switch_phrases(candidates, MIXED, np.random.default_rng([7, seed]))
        made = switched_text(candidates, switched)
        lines, offsets = made.text.text(), made.text.words.offsets
        batch = alm.batch(pairs, prepared, 0, np.random.default_rng([7, seed]))
        for row, line in enumerate(lines.lines):
            sides = made.sides[offsets[row] : offsets[row + 1]].tolist()
            assert (line, lines.tokens(row), sides) == by_loop(text, switched, row)
            encoding = vocab.tokenizer.encode(line, add_special_tokens=False)
            ids = batch.inputs["input_ids"][row]
            end = 1 + len(encoding.ids)
            assert ids[1:end].tolist() == encoding.ids
            assert ids[end] == vocab.end
            expected = list(
                sides_of_tokens(line, lines.words[row].tolist(), sides, encoding.offsets)
            )
            assert batch.sides[row, 1:end].tolist() == expected
        count += int((switched.replaced_words > 0).sum())
    return count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", TRANSLATIONS)
def test_tokens_are_those_of_the_switched_line(language, kind):
    text = by_hand(language)
    smallest = 280 if kind == "byte-bpe" else 120
    for more in (0, 60, 120):  # the more subwords, the more run over borders of words
        assert compared(text, learned(text, kind, smallest + more), draws=8) > 20
