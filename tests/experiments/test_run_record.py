"""What training really read, by hand."""

from interlace.experiments.records import mixture_of


def step(objective, corpus, tokens, rows, languages=None):
    return {"objective": objective, "corpus": corpus, "tokens": tokens, "rows": rows, "languages": languages or {}}


def test_counts_batches_and_tokens_by_objective_and_corpus():
    steps = [
        step("mlm", "en", 100, 10, {"en": 100}),
        step("mlm", "en", 60, 6, {"en": 60}),
        step("tlm", "en-de", 50, 5, {"en": 20, "de": 30}),
        step("word_aligned", "other:en-de", 40, 4),  # does not tell
    ]
    found = mixture_of(steps)
    assert found["tokens"] == {"mlm/en": 160, "tlm/en-de": 50, "word_aligned/other:en-de": 40}
    assert found["rows"] == {"mlm/en": 16, "tlm/en-de": 5, "word_aligned/other:en-de": 4}
    assert found["steps"] == {"mlm/en": 2, "tlm/en-de": 1, "word_aligned/other:en-de": 1}
    assert found["objectives"] == {"mlm": 160, "tlm": 50, "word_aligned": 40}
    assert found["languages"] == {"en": 200, "de": 50}
