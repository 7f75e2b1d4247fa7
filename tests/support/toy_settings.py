"""One toy corpus for all tests that train a shipped recipe, so that it is written, split and encoded only once."""


def under(section: str, **values: str) -> dict[str, str]:
    """Settings of a section by their whole keys: `under("train", steps="2")` is `{"train.steps": "2"}`."""
    return {f"{section}.{key}": value for key, value in values.items()}


TOY = under(
    "toy",
    sentences="300",
    pairs="200",
    labelled="20",
    nli="20",
    questions="5",
    dev="120",
    test="20",
)
VOCAB = {"vocab.size": "1800"}  # enough for some words of a dictionary to be whole
SHORT = under("train", steps="2", tokens_per_update="512", threads="1", evaluate_tokens="512")

# A corpus with test sets of every task, as small as they can be scored, and a model of two steps.
EVERY_TEST_SET = {
    "toy.languages": '["en", "de", "hi"]',
    "toy.sentences": "120",
    "toy.pairs": "80",
}
EVERY_TEST_SET |= under("toy", labelled="16", nli="16", dev="16", test="16", questions="12")
TINY_RUN = EVERY_TEST_SET | {
    "corpora.text.languages": '["en", "de", "hi"]',
    "corpora.pairs.pairs": '["en-de", "en-hi"]',
    "vocab.size": "700",
    "train.diagnostics.every": "0",
}
TINY_RUN |= under("model.shape", layers="1", width="16", heads="2")
TINY_RUN |= under(
    "train", steps="2", tokens_per_update="256", evaluate_tokens="256", threads="1"
)
