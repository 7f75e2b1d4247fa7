"""ALM: switched sentences of a pair and the spaces of moved phrases by hand, and errors."""

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data import Pairs
from interlace.data.vocab import Vocab
from interlace.models.families import Traits
from interlace.objectives import Resources
from interlace.objectives.alm import Alm
from interlace.objectives.common.code_switching import (
    CodeSwitching,
    SwitchCandidates,
    switch_phrases,
    switched_text,
)
from interlace.text import Text
from interlace.text.columns import TextColumns

PLAIN = Traits("bert", 64)
MIXED = {"source_share": 0, "target_share": 0}
ROLE_TOKENS = {"pad": "<pad>", "unk": "<unk>", "begin": "<s>", "end": "</s>", "mask": "<mask>"}


def rng(seed=0):
    return np.random.default_rng([7, seed, 0, 0])


# The pair of ALM's figure 2.
WORDS = (
    "<pad> </s> <s> <mask> <unk> we discussed the plan yesterday 我们 昨天 讨论 了 计划".split()
)
ID = {word: number for number, word in enumerate(WORDS)}


def little_vocab():
    tokenizer = Tokenizer(models.WordLevel(ID, unk_token="<unk>"))
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in WORDS[:5]])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Vocab(tokenizer, ROLE_TOKENS, {}, "by hand")


#              we-我们  yesterday-昨天  discussed-讨论了  discussed the plan-讨论了计划  the plan-计划
FIGURE_PHRASES = [(0, 1, 0, 1), (1, 2, 2, 4), (1, 4, 2, 5), (2, 4, 4, 5), (4, 5, 1, 2)]
SIDES = (
    Text.of(["we discussed the plan yesterday"], "en"),
    Text.of(["我们 昨天 讨论 了 计划"], "zh"),
)
FIGURE = Pairs(
    *map(little_vocab().encode_text, SIDES),
    text=tuple(map(TextColumns.of, SIDES)),
    phrases=Ragged.of([FIGURE_PHRASES], width=4),
)


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


def test_a_missing_column_is_an_error():
    alm = Alm(code_switching={"target_choice": "table_argmax"})
    assert alm.needs == {"text", "phrases", "known"}
    with pytest.raises(DataError, match=r"lack one of .*known.*ParallelCorpus"):
        alm.batch(FIGURE, alm.prepare(Resources(little_vocab(), PLAIN)), 0, rng())


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
        ("we met Maria here", "wir trafen (Marie) hier", (2, 3, 3, 4), "we met Marie here"),
        ("Maria came", "heute kam Marie", (0, 1, 2, 3), "Marie came"),
        ("in Beijing today", "今天在北京", (1, 2, 3, 5), "in 北京 today"),
    ],
)
def test_spaces_of_moved_phrases(matrix, other, phrase, line):
    assert switched_by_hand(matrix, other, phrase) == line
