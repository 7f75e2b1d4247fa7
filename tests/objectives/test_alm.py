"""ALM: a pair's switched sentences by hand, subwords against tokenising the switched text, and what it refuses."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

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
from interlace.data.vocab import ROLES, Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    _pair_spans,
    all_boundaries,
    switch_phrases,
)
from interlace.objectives.common.switched_text import CodeSwitchedText, CopySettings, LineWriter
from interlace.objectives.common.switched_tokens import WordForms, retokenized_share, switched_tokens
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.text.word_tokenizers.whitespace import Whitespace
from interlace.toy import pairs as world_pairs
from interlace.toy import sample

PLAIN = Traits("bert", 64)
MIXED = {"source_share": 0, "target_share": 0}
KINDS = ("byte-bpe", "bpe", "wordpiece", "unigram")


def rng(seed=0):
    return np.random.default_rng([7, seed, 0, 0])


# ---- a pair by hand, as in ALM's figure 2: one pair, many switched sentences ----

WORDS = "<pad> </s> <s> <mask> <unk> we discussed the plan yesterday 我们 昨天 讨论 了 计划".split()
ID = {word: number for number, word in enumerate(WORDS)}


def little_vocab():
    tokenizer = Tokenizer(models.WordLevel(ID, unk_token="<unk>"))
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in WORDS[:5]])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Vocab(
        tokenizer, {"pad": "<pad>", "begin": "<s>", "end": "</s>", "mask": "<mask>", "unk": "<unk>"}, {}, "by hand"
    )


def side(text, language):
    ids = Ragged.of([[ID[word] for word in text.split()]])
    return Sentences(ids, Ragged(ids.columns().astype(np.int32), ids.offsets), language)


#              we-我们  yesterday-昨天  discussed-讨论了  discussed the plan-讨论了计划  the plan-计划
FIGURE_PHRASES = [(0, 1, 0, 1), (1, 2, 2, 4), (1, 4, 2, 5), (2, 4, 4, 5), (4, 5, 1, 2)]
FIGURE = Pairs(
    side("we discussed the plan yesterday", "en"),
    side("我们 昨天 讨论 了 计划", "zh"),
    phrases=Ragged.of([FIGURE_PHRASES], width=4),
)


def sentences_of(alm, pairs=FIGURE, traits=PLAIN, draws=80):
    vocab = little_vocab()
    prepared = alm.prepare(Resources(vocab, traits))
    found = set()
    for seed in range(draws):
        ids = alm.batch(pairs, prepared, 0, rng(seed)).inputs["input_ids"]
        found |= {" ".join(WORDS[number] for number in row if number > 4) for row in ids}
    return found


def test_a_pair_gives_all_its_switched_sentences():
    """Of five words fewer than 30 % is one; a phrase of two words must wait for a larger share."""
    assert sentences_of(Alm(masking={"rate": 0}, code_switching={"major_source": 1, **MIXED})) == {
        "我们 discussed the plan yesterday",
        "we 讨论 了 the plan yesterday",
        "we discussed the plan 昨天",
    }
    assert sentences_of(Alm(masking={"rate": 0}, code_switching={"major_source": 0, **MIXED})) == {
        "we 昨天 讨论 了 计划",
        "我们 yesterday 讨论 了 计划",
        "我们 昨天 讨论 了 the plan",
    }


def test_the_monolingual_ends_are_the_sentences_themselves():
    assert sentences_of(Alm(masking={"rate": 0}, code_switching={"source_share": 1, "target_share": 0})) == {
        "we discussed the plan yesterday"
    }
    assert sentences_of(Alm(masking={"rate": 0}, code_switching={"source_share": 0, "target_share": 1})) == {
        "我们 昨天 讨论 了 计划"
    }


def test_masked_words_of_both_languages_are_predicted():
    alm = Alm(masking={"rate": 1, "random_share": 0, "mask_share": 1}, code_switching={"major_source": 1, **MIXED})
    batch = alm.batch(FIGURE, alm.prepare(Resources(little_vocab(), PLAIN)), 0, rng())
    assert (batch.inputs["input_ids"] == ID["<mask>"]).sum() == len(batch.labels) == batch.counts["alm"]
    languages = {WORDS[label].isascii() for label in batch.labels}
    assert languages == {True, False}
    assert batch.tokens == len(batch.labels) + 2


def test_language_ids_are_those_of_each_word_and_positions_run_on():
    traits = Traits("bert", 64, {"en": 2, "zh": 3}, "token_type_ids")
    alm = Alm(masking={"rate": 0}, code_switching={"major_source": 1, **MIXED})
    batch = alm.batch(FIGURE, alm.prepare(Resources(little_vocab(), traits)), 0, rng(1))
    words = [WORDS[number] for number in batch.inputs["input_ids"][0]]
    expected = [2 if word.isascii() else 3 for word in words]
    expected[0], expected[-1] = expected[1], expected[-2]
    assert batch.inputs["token_type_ids"][0].tolist() == expected
    assert len(set(expected)) == 2
    assert "position_ids" not in batch.inputs
    plain = alm.model_copy(update={"language_ids": False})
    assert (
        "token_type_ids" not in plain.batch(FIGURE, plain.prepare(Resources(little_vocab(), traits)), 0, rng()).inputs
    )


def test_long_rows_are_cut_with_their_languages():
    alm = Alm(max_length=8, masking={"rate": 0}, code_switching={"switch_fraction": 0.9, "major_source": 0, **MIXED})
    traits = Traits("bert", 64, {"en": 2, "zh": 3}, "token_type_ids")
    prepared = alm.prepare(Resources(little_vocab(), traits))
    for seed in range(20):
        batch = alm.batch(FIGURE, prepared, 0, rng(seed))
        ids, languages = batch.inputs["input_ids"][0], batch.inputs["token_type_ids"][0]
        assert len(ids) <= 8
        assert all((WORDS[i].isascii()) == (k == 2) for i, k in zip(ids[1:-1], languages[1:-1], strict=True))


# ---- subwords against the tokenizer ----


def text_of(language="de", count=120):
    """The toy corpus's pairs with words between blanks, its phrases, and probabilities drawn at random."""
    pairs = world_pairs("en", language, sample(count, "train", 5))
    sides = [
        type(text)(text.language, [" ".join(text.tokens(row)) for row in range(len(text))], text.words)
        for text in (pairs.source, pairs.target)
    ]
    sides = [type(text)(text.language, text.lines, Whitespace().split(text.lines)) for text in sides]
    assert all(
        np.array_equal(new.words.lengths, old.words.lengths)
        for new, old in zip(sides, (pairs.source, pairs.target), strict=True)
    )
    return TextPairs(sides[0], sides[1], pairs.links)


def phrases_of(text):
    words = WordPairs.of([text])
    phrases = phrase_pairs(words.source.lengths, words.target.lengths, text.links)
    scores = rng(3).choice([0.2, 0.5, 1.0], size=(len(phrases.flat), 2)).astype(np.float32)
    return phrases, Ragged(scores, phrases.offsets)


def encoded(text, vocab):
    phrases, scores = phrases_of(text)
    return Pairs(vocab.encode_text(text.source), vocab.encode_text(text.target), text.links, phrases, None, scores)


def without_blank_before_lines(text):
    """Tokenizers as RoBERTa's and Gemma's: a word that begins a line has no blank, and so other subwords."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = token_decoders.ByteLevel()
    yield tokenizer, trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = token_decoders.Metaspace(prepend_scheme="never")
    yield tokenizer, trainers.BpeTrainer(vocab_size=700)


def vocabularies(text):
    lines = {"en": text.source.lines, text.target.language: text.target.lines}
    for kind in KINDS:
        yield Vocab.learn(lines, 700, kind=kind)
    roles = {"pad": "<pad>", "unk": "<unk>", "begin": "<s>", "end": "</s>", "mask": "<mask>"}
    for tokenizer, trainer in without_blank_before_lines(text):
        trainer.special_tokens = [AddedToken(token, special=True) for token in roles.values()]
        tokenizer.train_from_iterator(itertools.chain(*lines.values()), trainer)
        yield Vocab(tokenizer, roles, {}, "no blank before lines")


@pytest.mark.parametrize("language", ["de", "hi"])
def test_subwords_are_those_of_the_switched_text(language):
    text = text_of(language)
    rules = CodeSwitching(switch_fraction=(0.3, 0.9))
    moved = 0
    for vocab in vocabularies(text):
        pairs, forms = encoded(text, vocab), WordForms(vocab)
        for seed in range(6):
            switched = switch_phrases(SwitchCandidates.of(pairs, forms.inside), rules, rng(seed))
            rows = switched_tokens(pairs, switched, forms)
            expected = vocab.encode(LineWriter(text).lines(switched))
            assert rows.sentences.ids == expected.ids
            assert rows.sentences.words == expected.words
            moved += int((switched.inserted & (switched.places.flat[:, 0] == 0)).sum())
    assert moved > 50  # phrases that came to begin a line


@pytest.mark.parametrize(("kind", "least"), [("byte-bpe", 0.95), ("unigram", 0.99)])
def test_in_a_script_without_blanks_few_rows_differ(kind, least):
    text = world_pairs("en", "zh", sample(200, "train", 5))
    vocab = Vocab.learn({"en": text.source.lines, "zh": text.target.lines}, 1500, kind=kind)
    pairs, forms = encoded(text, vocab), WordForms(vocab)
    switched = switch_phrases(SwitchCandidates.of(pairs, forms.inside), CodeSwitching(**MIXED), rng())
    found = switched_tokens(pairs, switched, forms).sentences.ids
    expected = vocab.encode(LineWriter(text).lines(switched)).ids
    assert np.mean([np.array_equal(one, other) for one, other in zip(found, expected, strict=True)]) > least
    assert (switched.replaced > 0).mean() > 0.5


def test_two_english_phrases_side_by_side_in_chinese_do_not_run_together():
    text = TextPairs(
        SimpleNamespace(language="en", lines=["we met Maria"], words=Whitespace().split(["we met Maria"])),
        SimpleNamespace(language="zh", lines=["我们见了玛丽亚"], words=Ragged.of([[(0, 2), (2, 4), (4, 7)]], width=2)),
    )
    phrases = Ragged.of([[(0, 1, 0, 1), (1, 2, 1, 2), (2, 3, 2, 3)]], width=4)
    words = np.array([[3, 3]])
    choices = SwitchCandidates(words, phrases, np.ones((3, 2), np.float32), all_boundaries(words))
    rules = CodeSwitching(major_source=0, switch_fraction=0.9, **MIXED)
    found = {LineWriter(text).lines(switch_phrases(choices, rules, rng(seed)))[0] for seed in range(40)}
    assert found == {"we met玛丽亚", "we见了Maria", "我们met Maria"}


# ---- phrases from links, the phrase table, and what is refused ----


def by_links(pairs):
    """(phrases, 2) how sure the surest link of a word is, on average over the words of the target, of the source."""
    found = []
    for links, confidence, phrases in zip(pairs.links, pairs.confidence, pairs.phrases, strict=True):
        surest = {}
        for ends, sure in zip(links.tolist(), confidence.tolist(), strict=True):
            for word in enumerate(ends):
                surest[word] = max(sure, surest.get(word, 0))
        for a, b, c, d in phrases.tolist():
            sides = [
                [surest.get((side, word), 0) for word in span] for side, span in ((1, range(c, d)), (0, range(a, b)))
            ]
            found.append([sum(side) / len(side) for side in sides])
    return np.array(found, np.float32)


def choices_of(alm, pairs, vocab):
    return alm._candidates(pairs, alm.prepare(Resources(vocab, PLAIN)).forms)


def candidates_of(choices, matrix):
    """(row, start, stop) -> the words of the other side that may stand there."""
    rules = CodeSwitching(max_phrase_length=PhraseRules().max_phrase_length)
    spans, counterparts = _pair_spans(choices, rules, np.full(len(choices.words), matrix, np.int8))
    keys = zip(spans.rows().tolist(), *spans.flat[:, :2].T.tolist(), strict=True)
    return dict(zip(keys, map(tuple, counterparts(spans)[:, 2:].tolist()), strict=True))


def test_phrases_from_links_are_those_of_the_store():
    """The same candidates with the same counterparts, where a store holds the probabilities that links stand for."""
    text = text_of()
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 700)
    pairs = encoded(text, vocab)
    sure = rng(4).choice([0.3, 0.6, 0.9], size=len(pairs.links.flat)).astype(np.float32)
    pairs = replace(pairs, confidence=Ragged(sure, pairs.links.offsets), scores=None)
    bare = replace(pairs, phrases=None)
    one, other = Alm(masking={"rate": 0}), Alm(phrases="extracted", masking={"rate": 0})
    found = choices_of(other, bare, vocab)
    stored = replace(pairs, scores=Ragged(found.scores, pairs.phrases.offsets))
    assert found.phrases == pairs.phrases
    np.testing.assert_allclose(found.scores, by_links(pairs), rtol=1e-5)
    for matrix in (0, 1):
        candidates = candidates_of(found, matrix)
        assert candidates == candidates_of(choices_of(one, stored, vocab), matrix)
        assert len(candidates) > 5 * len(pairs)
    prepared = one.prepare(Resources(vocab, PLAIN))
    ids = [alm.batch(given, prepared, 0, rng(1)).inputs["input_ids"] for alm, given in ((one, stored), (other, bare))]
    np.testing.assert_array_equal(*ids)


def test_of_several_counterparts_the_one_without_stray_words_is_taken():
    text = text_of()
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 700)
    bare = replace(encoded(text, vocab), phrases=None)
    clean = Alm(phrases="extracted", extraction=PhraseRules(unaligned_borders=False))
    choices = choices_of(Alm(phrases="extracted"), bare, vocab)
    several = len(choices.phrases.flat) - len(choices_of(clean, bare, vocab).phrases.flat)
    assert several > 20
    for matrix in (0, 1):
        found, expected = candidates_of(choices, matrix), candidates_of(choices_of(clean, bare, vocab), matrix)
        assert len(expected) > 5 * len(text)
        assert {span: found.get(span) for span in expected} == expected


def test_two_links_to_one_word_do_not_outweigh_a_stray_one():
    links = Ragged.of([[(0, 1), (1, 1)]], width=2)
    vocab = little_vocab()
    choices = choices_of(
        Alm(phrases="extracted"), Pairs(side("we discussed", "en"), side("了 计划", "zh"), links), vocab
    )
    assert choices.phrases.to_lists() == [[[0, 2, 0, 2], [0, 2, 1, 2]]]
    assert candidates_of(choices, 0) == {(0, 0, 2): (1, 2)}


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
def test_pairs_without_what_is_needed_name_the_cure(alm, named):
    bare = Pairs(FIGURE.source, FIGURE.target)
    with pytest.raises(DataError, match=named):
        alm.batch(bare, alm.prepare(Resources(little_vocab(), PLAIN)), 0, rng())


# ---- blanks ----


def switched_by_hand(matrix, other, phrase):
    """The line that comes of one phrase of words between which the word tokenizer `unicode` cuts."""
    word_tokenizer = WORD_TOKENIZERS.build("unicode")
    sides = [Text(code, [line], word_tokenizer.split([line])) for code, line in (("en", matrix), ("zh", other))]
    sizes = np.array([[int(side.words.lengths[0]) for side in sides]])
    choices = SwitchCandidates(
        sizes, Ragged.of([[phrase]], width=4), np.ones((1, 2), np.float32), all_boundaries(sizes)
    )
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
def test_blanks_stand_where_text_would_have_them(matrix, other, phrase, line):
    assert switched_by_hand(matrix, other, phrase) == line


# ---- the same distribution on the fly and in files ----


def test_rows_of_the_objective_and_lines_of_files_have_one_distribution():
    """The one come from subwords, the others from text and a table: sentences are drawn equally often."""
    text, copies = text_of(count=5), 800
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 700, kind="wordpiece")
    words, rules = WordPairs.of([text]), CodeSwitching(max_phrases=2, **MIXED)
    table = PhraseTable.count(words, text.links)
    drawn = CodeSwitchedText(table, TableRules(), rules, CopySettings(copies=copies // 2, monolingual=0, repeats=True))
    lines = [line for part in drawn.lines(text, words, text.links) for line in part]
    pairs = encoded(text, vocab)
    scores = Ragged(table.scores[table.locate(words, pairs.phrases)][:, [2, 0]], pairs.phrases.offsets)
    pairs = replace(pairs, scores=scores).take(np.repeat(np.arange(len(pairs)), copies))
    rows = switched_tokens(pairs, switch_phrases(SwitchCandidates.of(pairs), rules, rng(1)), WordForms(vocab)).sentences
    counted = [Counter(map(vocab.decode, side.ids)) for side in (rows, vocab.encode(lines))]
    keys = sorted(set(counted[0]) | set(counted[1]))
    counts = np.array([[side[key] for side in counted] for key in keys])
    assert counts.sum(axis=0).tolist() == [5 * copies, 5 * copies]
    often = counts.sum(axis=1) >= 10
    assert often.sum() > 50
    assert counts[often].sum() > 0.9 * counts.sum()
    assert chi2_contingency(counts[often]).pvalue > 0.01


def test_a_pair_gives_each_sentence_once_and_its_own_in_their_share():
    text = text_of(count=60)
    words = WordPairs.of([text])
    drawn = CodeSwitchedText(
        PhraseTable.count(words, text.links), TableRules(), CodeSwitching(), CopySettings(copies=8)
    )
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


def test_the_tables_translation_is_written_where_it_is_asked_for():
    """ "the cat" is "die Katze" twice and "der Kater" once, so the table knows better than the third pair."""
    sides = [["I see the cat there now"] * 3, ["ich sehe die Katze dort jetzt"] * 2 + ["ich sehe der Kater dort jetzt"]]
    texts = [Text(code, lines, Whitespace().split(lines)) for code, lines in zip(("en", "de"), sides, strict=True)]
    links = Ragged.of([[(i, i) for i in range(6)]] * 3, width=2)
    text = TextPairs(texts[0], texts[1], links)
    words = WordPairs.of([text])
    for choice, expected in (("in_pair", "Kater"), ("table_argmax", "Katze")):
        rules = CodeSwitching(target_choice=choice)
        drawn = CodeSwitchedText(PhraseTable.count(words, links), TableRules(), rules, CopySettings(copies=30))
        lines = [line for part in drawn.lines(text, words, links) for line in part]
        third = lines[lines.index(sides[1][2]) :]
        assert any(expected in line and line.startswith(("I ", "ich see")) for line in third)
        assert not any("Katze" in line for line in third if choice == "in_pair")


# ---- notes and statistics ----


def test_a_batch_tells_its_realised_mix():
    text = world_pairs("en", "de", sample(300, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900)
    alm = Alm(max_length=60)
    batch = alm.batch(encoded(text, vocab), alm.prepare(Resources(vocab, Traits("bert", 64))), 0, rng())
    mixed, replaced = (batch.extra[name].item() / batch.counts[name] for name in ("mixed_share", "replaced_share"))
    assert batch.counts["mixed_share"] == len(batch.inputs["input_ids"]) == 300
    assert 0.6 < mixed < 0.8  # a fifth is to be plain, and some short sentences have nothing to exchange
    assert 0.1 < replaced < 0.3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"code_switching": {"target_choice": "table_argmax"}}, "has no table for code_switching"),
        ({"code_switching": {"max_phrase_length": 6}}, "exceeds extraction"),
    ],
)
def test_settings_that_would_be_passed_over_are_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        Alm.read({"phrases": "extracted", **settings})
    Alm.read(settings)


def test_rows_whose_text_is_tokenized_differently_are_noted(monkeypatch):
    text = world_pairs("en", "de", sample(50, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900)
    pairs = encoded(text, vocab)
    assert retokenized_share(pairs.source, vocab) == 0
    word = max(vocab.tokens(vocab.regular_ids), key=len).lstrip("▁Ġ ")  # one subword, here in its letters
    spelt = [vocab.tokenizer.encode(letter, add_special_tokens=False).ids[-1] for letter in word if letter.isascii()]
    apart = Sentences(Ragged.of([*pairs.source.ids.to_lists()[:3], spelt]), pairs.source.words, "en")
    assert retokenized_share(apart, vocab) == 1 / 4
    alm = Alm(max_length=60)
    prepared = alm.prepare(Resources(vocab, Traits("bert", 64)))
    assert alm.notes(pairs, prepared) == []
    monkeypatch.setattr("interlace.objectives.alm.retokenized_share", lambda *_: 0.25)
    assert "25.0% of 50 switched sentences of en-de" in alm.notes(pairs, prepared)[0]


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_a_tokenizer_without_a_decoder_is_no_reason_to_tell(kind):
    text = world_pairs("en", "de", sample(50, "train", 3))
    vocab = Vocab.learn({"en": text.source.lines, "de": text.target.lines}, 900, kind=kind)
    raw = json.loads(vocab.tokenizer.to_str()) | {"decoder": None}
    bare = Vocab(Tokenizer.from_str(json.dumps(raw)), ROLES, {}, "bare")
    assert bare.tokenizer.decoder is None
    assert (
        retokenized_share(encoded(text, bare).source, bare)
        == retokenized_share(encoded(text, vocab).source, vocab)
        == 0
    )
