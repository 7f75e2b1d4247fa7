"""ALM: switched sentences of a pair by hand, tokens compared with those of the switched text, and errors."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
from tokenizers import decoders as token_decoders

from interlace.alignment import WordPairs
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.alignments import PhraseStore, WordAlignments
from interlace.data.vocab import ROLES, Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings, LineWriter
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    WordForms,
    all_boundaries,
    retokenized_share,
    switch_phrases,
    switched_tokens,
)
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS
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


def side(text, language):
    ids = Ragged.of([[ID[word] for word in text.split()]])
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


#              we-我们  yesterday-昨天  discussed-讨论了  discussed the plan-讨论了计划  the plan-计划
FIGURE_PHRASES = [(0, 1, 0, 1), (1, 2, 2, 4), (1, 4, 2, 5), (2, 4, 4, 5), (4, 5, 1, 2)]
SIDES = side("we discussed the plan yesterday", "en"), side("我们 昨天 讨论 了 计划", "zh")
FIGURE = Pairs(*SIDES, phrases=Ragged.of([FIGURE_PHRASES], width=4))


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
    alm = Alm(max_length=8, masking={"rate": 0}, code_switching={"switch_fraction": 0.9, "major_source": 0, **MIXED})
    traits, found = Traits("bert", 64, {"en": 2, "zh": 3}, "token_type_ids"), set()
    for seed in range(20):
        inputs = alm.batch(FIGURE, alm.prepare(Resources(little_vocab(), traits)), 0, rng(seed)).inputs
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
    lines = [[" ".join(side.tokens(row)) for row in range(len(side))] for side in (pairs.source, pairs.target)]
    return replace(TextPairs.of(*lines, ("en", language)), links=pairs.links)


def encoded(text, vocab):
    phrases = phrase_pairs(text.source.words.lengths, text.target.words.lengths, text.links)
    scores = rng(3).choice([0.2, 0.5, 1.0], size=(len(phrases.flat), 4)).astype(np.float32)
    sides = (vocab.encode_text(side) for side in (text.source, text.target))
    return Pairs(*sides, text.links, phrases, None, Ragged(scores, phrases.offsets))


def learned(text, size=700, **settings):
    return Vocab.learn({side.language: side.lines for side in (text.source, text.target)}, size, **settings)


def vocabularies(text):
    for kind in ("byte-bpe", "bpe", "wordpiece", "unigram"):
        yield learned(text, kind=kind)
    # As RoBERTa's and Gemma's: a word at the beginning of a line has no blank, and so other tokens.
    byte, blank = Tokenizer(models.BPE()), Tokenizer(models.BPE(unk_token="<unk>"))
    byte.pre_tokenizer, byte.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), token_decoders.ByteLevel()
    blank.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    blank.decoder = token_decoders.Metaspace(prepend_scheme="never")
    for tokenizer, alphabet in ((byte, pre_tokenizers.ByteLevel.alphabet()), (blank, [])):
        specials = [AddedToken(token, special=True) for token in ROLE_TOKENS.values()]
        trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, special_tokens=specials)
        tokenizer.train_from_iterator(itertools.chain(text.source.lines, text.target.lines), trainer)
        yield Vocab(tokenizer, ROLE_TOKENS, {}, "no blank before lines")


@pytest.mark.parametrize("language", ["de", "hi"])
def test_tokens_are_those_of_the_switched_text(language):
    text = text_of(language)
    rules = CodeSwitching(switch_fraction=(0.3, 0.9))
    moved = 0
    for vocab in vocabularies(text):
        pairs, forms = encoded(text, vocab), WordForms(vocab)
        for seed in range(4):
            switched = switch_phrases(SwitchCandidates.of(pairs), rules, rng(seed))
            rows = switched_tokens(pairs, switched, forms)
            expected = vocab.encode(LineWriter(text).lines(switched))
            assert rows.sentences.ids == expected.ids
            assert rows.sentences.words == expected.words
            moved += int((switched.inserted & (switched.places.flat[:, 0] == 0)).sum())
    assert moved > 30  # phrases moved to the beginning of a line


@pytest.mark.parametrize(("kind", "least"), [("byte-bpe", 0.95), ("unigram", 0.99)])
def test_few_rows_differ_in_a_script_without_blanks(kind, least):
    text = world_pairs("en", "zh", sample(200, "train", 5))
    vocab = learned(text, 1500, kind=kind)
    pairs, forms = encoded(text, vocab), WordForms(vocab)
    switched = switch_phrases(SwitchCandidates.of(pairs), CodeSwitching(**MIXED), rng())
    found = switched_tokens(pairs, switched, forms).sentences.ids
    expected = vocab.encode(LineWriter(text).lines(switched)).ids
    assert np.mean([np.array_equal(one, other) for one, other in zip(found, expected, strict=True)]) > least
    assert (switched.replaced > 0).mean() > 0.5


def counterparts(candidates, matrix):
    """The words that replace each (row, start, stop) in some draw."""
    rules, found = CodeSwitching(switch_fraction=1, major_source=1 - matrix, **MIXED), {}
    for seed in range(30):
        switched = switch_phrases(candidates, rules, rng(seed))
        at = switched.inserted
        keys = zip(switched.pieces.rows()[at].tolist(), *switched.places.flat[at].T.tolist(), strict=True)
        found |= dict(zip(keys, map(tuple, switched.pieces.flat[at, 2:].tolist()), strict=True))
    return found


def test_extracted_phrases_equal_stored_ones():
    text = text_of()
    vocab = learned(text)
    pairs = encoded(text, vocab)
    sure = rng(4).choice([0.3, 0.6, 0.9], size=len(pairs.links.flat)).astype(np.float32)
    bare = replace(pairs, confidence=Ragged(sure, pairs.links.offsets), phrases=None, scores=None)
    found = SwitchCandidates.extracted(bare, PhraseRules())
    assert found.phrases == pairs.phrases
    surest = {}  # of each word of the first pair
    for ends, confidence in zip(bare.links[0].tolist(), sure.tolist(), strict=False):
        for word in enumerate(ends):
            surest[word] = max(confidence, surest.get(word, 0))
    for (a, b, c, d), scores in zip(pairs.phrases[0].tolist(), found.scores.tolist(), strict=False):
        spans = [(1, word) for word in range(c, d)], [(0, word) for word in range(a, b)]
        assert scores == pytest.approx([np.mean([surest.get(word, 0) for word in span]) for span in spans])
    stored = replace(pairs, scores=Ragged(np.hstack([found.scores, found.weights]), pairs.phrases.offsets))
    one, other = Alm(masking={"rate": 0}), Alm(phrases="extracted", masking={"rate": 0})
    prepared = one.prepare(Resources(vocab, PLAIN))
    ids = [alm.batch(given, prepared, 0, rng(1)).inputs["input_ids"] for alm, given in ((one, stored), (other, bare))]
    np.testing.assert_array_equal(*ids)


def test_prefers_counterparts_without_unaligned_words():
    text = text_of()
    bare = encoded(text, learned(text))
    every = SwitchCandidates.extracted(bare, PhraseRules())
    tight = SwitchCandidates.extracted(bare, PhraseRules(unaligned_borders=False))
    assert len(every.phrases.flat) - len(tight.phrases.flat) > 20
    for matrix in (0, 1):
        found, expected = counterparts(every, matrix), counterparts(tight, matrix)
        common = found.keys() & expected.keys()
        assert len(common) > 5 * len(text)
        assert {span: found[span] for span in common} == {span: expected[span] for span in common}


def test_needs_follow_the_settings():
    assert Alm().needs == {"phrases"}
    assert Alm(phrases="extracted").needs == {"links"}
    assert Alm(code_switching={"target_choice": "table_argmax"}).needs == {"phrases", "known"}


@pytest.mark.parametrize(
    ("alm", "named"),
    [
        (Alm(), "no phrases.*'extracted'"),
        (Alm(phrases="extracted"), "no word alignments.*'stored'"),
        (Alm(code_switching={"target_choice": "table_argmax"}), "phrase table.*'in_pair'"),
    ],
)
def test_error_for_missing_phrases_names_the_solution(alm, named):
    bare = Pairs(FIGURE.source, FIGURE.target)
    with pytest.raises(DataError, match=named):
        alm.batch(bare, alm.prepare(Resources(little_vocab(), PLAIN)), 0, rng())


def switched_by_hand(matrix, other, phrase):
    """The line after one phrase is exchanged, in words of the word tokenizer `unicode`."""
    word_tokenizer = WORD_TOKENIZERS.build("unicode")
    sides = [Text(code, [line], word_tokenizer.split([line])) for code, line in (("en", matrix), ("zh", other))]
    sizes = np.array([[int(side.words.lengths[0]) for side in sides]])
    ones, phrases = np.ones((1, 2), np.float32), Ragged.of([[phrase]], width=4)
    choices = SwitchCandidates(sizes, phrases, ones, ones, all_boundaries(sizes))
    switched = switch_phrases(choices, CodeSwitching(major_source=1, switch_fraction=1, **MIXED), rng())
    return LineWriter(TextPairs(*sides)).lines(switched)[0]


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
    """Pairs with the phrases, scores and translations of a phrase store, counted from their own words."""
    words = WordPairs.of([text])
    sure = np.ones(len(text.links.flat), np.float32)
    aligned = WordAlignments.write(folder / "aligned", [(words, text.links, sure)])
    store = PhraseStore.write(folder / "phrases", aligned, PhraseTable.count(words, text.links), TableRules())
    spans, scores = store.take(rows := np.arange(len(text)))
    sides = (vocab.encode_text(side) for side in (text.source, text.target))
    return Pairs(*sides, text.links, spans, None, scores, store.known(rows, vocab))


def batch_lines(text, vocab, folder, copies, **rules):
    """The mixed sentences of a batch of the objective, `copies` of each pair in each direction."""
    alm = Alm(max_length=64, masking={"rate": 0}, code_switching={**rules, **MIXED})
    pairs = stored(text, vocab, folder).take(np.repeat(np.arange(len(text)), 2 * copies))
    batch = alm.batch(pairs, alm.prepare(Resources(vocab, PLAIN)), 0, rng(1))
    rows = [row[~np.isin(row, vocab.special_ids)] for row in batch.inputs["input_ids"]]
    own = {vocab.decode(row) for side in (pairs.source, pairs.target) for row in side.ids}
    return [line for line in map(vocab.decode, rows) if line not in own], batch.extra["mixed_share"][0]


def assert_same_distribution(mixed, lines, vocab):
    """Lines of batches and of files, compared as subwords."""
    counted = [Counter(mixed), Counter(map(vocab.decode, vocab.encode(lines).ids))]
    assert abs(len(lines) - len(mixed)) < 4 * len(lines) ** 0.5  # sides are drawn in batches, and counted in files
    counts = np.array([[side[key] for side in counted] for key in sorted(counted[0].keys() | counted[1].keys())])
    often = counts.sum(axis=1) >= 10
    assert often.sum() > 50
    assert counts[often].sum() > 0.8 * counts.sum()
    assert chi2_contingency(counts[often]).pvalue > 0.01


@pytest.mark.parametrize("choice", ["in_pair", "table_argmax"])
def test_batches_and_files_have_the_same_distribution(choice, tmp_path):
    text, copies = text_of(count=5), 400
    vocab = learned(text, kind="wordpiece")
    words, rules = WordPairs.of([text]), CodeSwitching(max_phrases=2, target_choice=choice, **MIXED)
    table = PhraseTable.count(words, text.links)
    drawn = CodeSwitchedText(table, TableRules(), rules, CopySettings(copies=copies, monolingual=0, repeats=True))
    lines = [line for part in drawn.lines(text, words, text.links) for line in part]
    assert not {*lines} & {*text.source.lines, *text.target.lines}
    mixed, count = batch_lines(text, vocab, tmp_path, copies, max_phrases=2, target_choice=choice)
    assert len(mixed) == count
    assert_same_distribution(mixed, lines, vocab)


def test_file_has_distinct_sentences_and_a_share_of_monolingual_ones():
    text = text_of(count=60)
    words = WordPairs.of([text])
    table = PhraseTable.count(words, text.links)
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"code_switching": {"target_choice": "table_argmax"}}, "has no table for code_switching"),
        ({"code_switching": {"max_phrase_length": 6}}, "exceeds extraction"),
    ],
)
def test_rejects_settings_without_effect(settings, message):
    with pytest.raises(SettingsError, match=message):
        Alm.read({"phrases": "extracted", **settings})
    Alm.read(settings)


def test_notes_the_share_of_sentences_tokenized_differently(monkeypatch):
    text = world_pairs("en", "de", sample(50, "train", 3))
    vocab = learned(text, 900)
    pairs = encoded(text, vocab)
    assert retokenized_share(pairs.source, vocab) == 0
    word = max(vocab.tokens(vocab.regular_ids), key=len).lstrip("▁Ġ ")  # one subword, here in its letters
    spelt = [vocab.tokenizer.encode(letter, add_special_tokens=False).ids[-1] for letter in word if letter.isascii()]
    apart = Sentences(Ragged.of([*pairs.source.ids.to_lists()[:3], spelt]), pairs.source.words, "en")
    assert retokenized_share(apart, vocab) == 1 / 4
    alm = Alm(max_length=60)
    prepared = alm.prepare(Resources(vocab, Traits("bert", 64)))
    assert alm.notes(pairs, prepared) == []
    monkeypatch.setattr("interlace.objectives.common.code_switching.retokenized_share", lambda *_: 0.25)
    assert "25.0% of 50 code-switched sentences of en-de" in alm.notes(pairs, prepared)[0]


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_tokenizer_without_a_decoder(kind):
    text = world_pairs("en", "de", sample(50, "train", 3))
    vocab = learned(text, 900, kind=kind)
    raw = json.loads(vocab.tokenizer.to_str()) | {"decoder": None}
    bare = Vocab(Tokenizer.from_str(json.dumps(raw)), ROLES, {}, "bare")
    assert bare.tokenizer.decoder is None
    assert [retokenized_share(encoded(text, one).source, one) for one in (bare, vocab)] == [0, 0]
