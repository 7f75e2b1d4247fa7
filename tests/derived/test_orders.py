"""Sentences in reverse order (what ends them and what is between words, by hand) and in random orders."""

from collections import Counter
from itertools import permutations

import pytest

from interlace.derived import TRANSFORMATIONS
from interlace.text import Text


def inverted(line, word_tokenizer="unicode", **settings):
    return (
        TRANSFORMATIONS.build({"name": "invert", **settings})
        .apply(Text.of([line], "en", word_tokenizer))
        .text.lines[0]
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("The U.S. economy grew 3.5 %.", "% 3.5 grew economy U.S. The."),
        ("It weighs 2 @.@ 5 kg .", "kg 5 @.@ 2 weighs It ."),
        ("Some, e.g. dogs, bark ... as I said.", "bark , dogs e.g. , Some ... said I as."),
        ("See e.g., www.x.com/?q=y now! Yes", "now y = /?q www.x.com e.g., See! Yes"),
        ("Wait...what? .5 of it", "Wait...what? it of .5"),
        (
            "He went (at 3 p.m.). She's in the U.S.",
            ") p.m. 3 at ( went He. U.S. the in s ' She",
        ),
        ('He said "go." Then (all left.) Bye', 'go " said He." left all ( Then.) Bye'),
        ("The U.S.'s best. x", "best U.S.'s The. x"),
        ("他走3.5公里！「好。」来了", "里公 3.5 走他！好「。」了来"),
        # `b` comes to stand before the last period: touching it, it would end `1.b.`
        ("v1.b and c.", "c and v1.b ."),
    ],
)
def test_marks_inside_words_end_no_sentence(line, expected):
    assert inverted(line) == expected


@pytest.mark.parametrize(
    ("line", "expected", "settings"),
    [
        ("Welcome to ACL", "ACL to Welcome", {}),  # Tang et al. (2022), table 9
        ("Dogs bark. Cats do not! Why?", "bark Dogs. not do Cats! Why?", {}),
        ("a b ... c d", "b a ... d c", {}),
        ("", "", {}),
        (".", ".", {}),
        ("医生来了。他走。", "了来生医。走他。", {}),
        (
            "The dog,  a cat (big) sleeps. I don't.",
            "sleeps ) big ( cat  a , dog The. t ' don I.",
            {},
        ),
        ("a b ! c d . e", "d c ! b a . e", {"sentence_split": "period"}),
        ("a b . c d ?", "d c . b a ?", {"sentence_split": "line"}),
        ("a b . c d", ". b a d c", {"keep_final_punct": False}),
        (
            "He left. She stayed",
            "stayed She . left He",
            {"keep_final_punct": False, "sentence_split": "line"},
        ),
    ],
)
def test_sentences_are_reversed(line, expected, settings):
    assert inverted(line, **settings) == expected


def test_all_orders_are_equally_likely():
    change = TRANSFORMATIONS.build("permute")
    lines = [f"a{n} b{n} c{n} ." for n in range(6000)]
    derived = change.apply(Text.of(lines, "en")).text
    counts = Counter("".join(word[0] for word in line.split()) for line in derived.lines)
    assert set(counts) == {"".join(order) + "." for order in permutations("abc")}
    assert all(abs(count - 1000) < 120 for count in counts.values())  # four deviations
