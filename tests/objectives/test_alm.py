"""ALM: switched sentences of a pair by hand, batches compared with written lines, and errors."""

from dataclasses import replace

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from interlace.alignment import WordPairs
from interlace.alignment.phrase_counts import count_phrases
from interlace.alignment.phrase_table import TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs
from interlace.data.alignments import PhraseStore, StoredText, WordAlignments
from interlace.data.corpus import ParallelCorpus
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    switch_phrases,
    switched_text,
)
from interlace.text import Text, TextPairs
from interlace.text.columns import TextColumns
from interlace.toy import pairs as world_pairs
from interlace.toy import sample

PLAIN = Traits("bert", 64)
MIXED = {"source_share": 0, "target_share": 0}
ROLE_TOKENS = {"pad": "<pad>", "unk": "<unk>", "begin": "<s>", "end": "</s>", "mask": "<mask>"}


def rng(seed=0):
    return np.random.default_rng([7, seed, 0, 0])


# The pair of ALM's figure 2.
WORDS = "<pad> </s> <s> <mask> <unk> we discussed the plan yesterday 我们 昨天 讨论 了 计划".split()
ID = {word: number for number, word in enumerate(WORDS)}


def little_vocab():
    tokenizer = Tokenizer(models.WordLevel(ID, unk_token="<unk>"))
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in WORDS[:5]])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Vocab(tokenizer, ROLE_TOKENS, {}, "by hand")


def encoded_pairs(text, vocab, **columns):
    """Pairs with their text."""
    sides = (text.source, text.target)
    lines = (TextColumns.of(text.source), TextColumns.of(text.target))
    return Pairs(*(vocab.encode_text(side) for side in sides), text=lines, **columns)


#              we-我们  yesterday-昨天  discussed-讨论了  discussed the plan-讨论了计划  the plan-计划
FIGURE_PHRASES = [(0, 1, 0, 1), (1, 2, 2, 4), (1, 4, 2, 5), (2, 4, 4, 5), (4, 5, 1, 2)]
FIGURE_TEXT = TextPairs.of(
    ["we discussed the plan yesterday"], ["我们 昨天 讨论 了 计划"], ("en", "zh")
)
FIGURE = encoded_pairs(FIGURE_TEXT, little_vocab(), phrases=Ragged.of([FIGURE_PHRASES], width=4))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Of five words fewer than 30 % is one: a phrase of two words needs a larger share.
        ({"major_source": 1, **MIXED},
         {"我们 discussed the plan yesterday", "we 讨论 了 the plan yesterday", "we discussed the plan 昨天"}),
        ({"major_source": 0, **MIXED},
         {"we 昨天 讨论 了 计划", "我们 yesterday 讨论 了 计划", "我们 昨天 讨论 了 the plan"}),
        ({"source_share": 1, "target_share": 0}, {"we discussed the plan yesterday"}),
        ({"source_share": 0, "target_share": 1}, {"我们 昨天 讨论 了 计划"}),
    ],
)  # fmt: skip
def test_all_switched_sentences_of_a_pair(settings, expected):
    alm = Alm(masking={"rate": 0}, code_switching=settings)
    prepared, found = alm.prepare(Resources(little_vocab(), PLAIN)), set()
    for seed in range(80):
        ids = alm.batch(FIGURE, prepared, 0, rng(seed)).inputs["input_ids"]
        found |= {" ".join(WORDS[number] for number in row if number > 4) for row in ids}
    assert found == expected


def test_language_ids_follow_the_words_and_positions_do_not_restart():
    alm = Alm(
        max_length=8,
        masking={"rate": 0},
        code_switching={"switch_fraction": 0.9, "major_source": 0, **MIXED},
    )
    traits, found = Traits("bert", 64, {"en": 2, "zh": 3}, "token_type_ids"), set()
    for seed in range(20):
        inputs = alm.batch(
            FIGURE, alm.prepare(Resources(little_vocab(), traits)), 0, rng(seed)
        ).inputs
        ids, languages = inputs["input_ids"][0], inputs["token_type_ids"][0].tolist()
        assert len(ids) <= 8
        assert languages[1:-1] == [2 if WORDS[number].isascii() else 3 for number in ids[1:-1]]
        assert (languages[0], languages[-1]) == (languages[1], languages[-2])
        assert "position_ids" not in inputs
        found |= set(languages)
    assert found == {2, 3}
    plain = alm.model_copy(update={"language_ids": False})
    batch = plain.batch(FIGURE, plain.prepare(Resources(little_vocab(), traits)), 0, rng())
    assert "token_type_ids" not in batch.inputs


def text_of(language="de", count=120):
    """Pairs of the toy corpus with blanks between words."""
    pairs = world_pairs("en", language, sample(count, "train", 5))
    lines = [
        [" ".join(side.tokens(row)) for row in range(len(side))]
        for side in (pairs.source, pairs.target)
    ]
    return replace(TextPairs.of(*lines, ("en", language)), links=pairs.links)


def encoded(text, vocab):
    phrases = phrase_pairs(text.source.words.lengths, text.target.words.lengths, text.links)
    scores = rng(3).choice([0.2, 0.5, 1.0], size=(len(phrases.flat), 4)).astype(np.float32)
    scores = Ragged(scores, phrases.offsets)
    return encoded_pairs(text, vocab, links=text.links, phrases=phrases, scores=scores)


def learned(text, size=700, **settings):
    return Vocab.learn(
        {side.language: side.lines for side in (text.source, text.target)}, size, **settings
    )


def test_needs_follow_the_settings():
    assert Alm().needs == {"text", "phrases"}
    assert Alm(code_switching={"target_choice": "table_argmax"}).needs == {
        "text",
        "phrases",
        "known",
    }


@pytest.mark.parametrize(
    ("choice", "column"), [("in_pair", "phrases"), ("in_pair", "text"), ("table_argmax", "known")]
)
def test_a_missing_column_is_an_error(choice, column):
    alm = Alm(code_switching={"target_choice": choice})
    prepared = alm.prepare(Resources(little_vocab(), PLAIN))
    with pytest.raises(DataError, match=rf"lack one of .*{column}.*ParallelCorpus"):
        alm.batch(replace(FIGURE, **{column: None}), prepared, 0, rng())


def switched_by_hand(matrix, other, phrase):
    """The line after one phrase is exchanged, in words of the word tokenizer `unicode`."""
    text = (
        TextColumns.of(Text.of([matrix], "en", "unicode")),
        TextColumns.of(Text.of([other], "zh", "unicode")),
    )
    candidates = SwitchCandidates.of(text, Ragged.of([[phrase]], width=4))
    switched = switch_phrases(
        candidates, CodeSwitching(major_source=1, switch_fraction=1, **MIXED), rng()
    )
    return switched_text(candidates, switched).text.lines[0]


@pytest.mark.parametrize(
    ("matrix", "other", "phrase", "line"),
    [
        ("two young, white men", "zwei weiße Männer", (2, 4, 1, 2), "two young weiße men"),
        ("two young white men", "zwei junge, weiße Männer", (2, 3, 2, 4), "two young, weiße men"),
        ("we met (Maria) here", "wir trafen Marie hier", (3, 4, 2, 3), "we met (Marie) here"),
        ("we met Maria here", "wir trafen (Marie) hier", (2, 3, 3, 4), "we met Marie here"),
        ("Maria came", "heute kam Marie", (0, 1, 2, 3), "Marie came"),
        ("in Beijing today", "今天在北京", (1, 2, 3, 5), "in 北京 today"),
    ],
)
def test_spaces_of_moved_phrases(matrix, other, phrase, line):
    assert switched_by_hand(matrix, other, phrase) == line


def stored(text, vocab, folder):
    """A corpus on disk with text, phrases, scores and a phrase table, counted from its own words."""
    words = WordPairs.of([text])
    sure = np.ones(len(text.links.flat), np.float32)
    options = {"languages": words.languages, "word_tokenizer": words.word_tokenizer}
    pairs = Pairs(vocab.encode_text(text.source), vocab.encode_text(text.target))
    corpus = ParallelCorpus.write(folder / "corpus", [pairs], vocab=vocab, **options)
    aligned = WordAlignments.write(folder / "aligned", [(words, text.links, sure)])
    phrases = PhraseStore.write(
        folder / "phrases", aligned, count_phrases(words, text.links), TableRules()
    )
    lines = StoredText.write(folder / "text", [text], **options)
    return corpus.with_alignments(aligned, phrases, text=lines, known=True)


@pytest.mark.parametrize("choice", ["in_pair", "table_argmax"])
@pytest.mark.parametrize("language", ["de", "zh"])
def test_batches_and_files_have_the_same_lines(choice, language, tmp_path):
    copies, rules = 3, {"max_phrases": 2, "target_choice": choice, **MIXED}
    text = world_pairs("en", language, sample(60, "train", 5))
    vocab = learned(text)
    words = WordPairs.of([text])
    table = count_phrases(words, text.links)
    settings = CopySettings(copies=copies, monolingual=0)
    drawn = CodeSwitchedText(table, TableRules(), CodeSwitching(**rules), settings)
    lines = [line for part in drawn.lines(text, words, text.links) for line in part]

    pairs = stored(text, vocab, tmp_path).take(np.arange(len(text)))
    by_row = [[] for _ in range(len(text))]
    for side in (0, 1):
        alm = Alm(
            max_length=256, masking={"rate": 0}, code_switching={**rules, "major_source": 1 - side}
        )
        prepared = alm.prepare(Resources(vocab, Traits("bert", 256)))
        own = vocab.encode_text((text.source, text.target)[side]).ids
        for copy in range(copies):
            batch = alm.batch(pairs, prepared, 0, generator(Purpose.SWITCH, 0, 0, 2 * copy + side))
            for row, padded in enumerate(batch.inputs["input_ids"]):
                ids = padded[~np.isin(padded, vocab.special_ids)].tolist()
                if ids != own[row].tolist() and ids not in by_row[row]:
                    by_row[row].append(ids)
    assert vocab.encode(lines).ids.to_lists() == [ids for rows in by_row for ids in rows]
    assert len(lines) > 150


def test_file_has_distinct_sentences_and_a_share_of_monolingual_ones():
    text = text_of(count=60)
    words = WordPairs.of([text])
    table = count_phrases(words, text.links)
    drawn = CodeSwitchedText(table, TableRules(), CodeSwitching(), CopySettings(copies=8))
    lines = [line for part in drawn.lines(text, words, text.links) for line in part]
    own = {*text.source.lines, *text.target.lines}
    mixed = [line for line in lines if line not in own]
    assert len(set(mixed)) == len(mixed)
    summary = drawn.counts.summary()
    assert summary["lines"] == len(lines)
    assert summary["kinds"]["source"] + summary["kinds"]["target"] == len(lines) - len(mixed)
    assert 0.15 < 1 - len(mixed) / len(lines) < 0.25
    assert 0 < summary["switched_words"] < 0.3
    assert sum(summary["distinct"].values()) == 2 * 60
    assert sum(int(lines) * pairs for lines, pairs in summary["distinct"].items()) == len(mixed)
