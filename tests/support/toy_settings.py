"""One toy corpus for all tests that train a shipped recipe, so that it is written, split and encoded only once."""


def under(section: str, **values: str) -> dict[str, str]:
    """Settings of a section by their whole keys: `under("train", steps="2")` is `{"train.steps": "2"}`."""
    return {f"{section}.{key}": value for key, value in values.items()}


TOY = under("toy", sentences="300", pairs="200", labelled="20", nli="20", questions="5", dev="120", test="20")
VOCAB = {"vocab.size": "1800"}  # enough for some words of a dictionary to be whole
SHORT = under("train", steps="2", tokens_per_update="512", threads="1", evaluate_tokens="512")
