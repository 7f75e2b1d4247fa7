"""LabeledExamples examples as people read them: texts, what is right, and what was predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.core.ragged import Ragged
from interlace.data import LabeledExamples, Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab

_WORDS = 40  # shown of a sentence


def labelled(
    classes: Sequence[str], vocab: Vocab, examples: Any, predictions: Any, gold: Any, rows: NDArray[Any]
) -> list[dict[str, Any]]:
    """Some rows with a class each, or one a word; none where there are no classes, or examples of another kind."""
    if not isinstance(examples, LabeledExamples) or not classes:
        return []
    names = [*classes, "none"]  # -1 is the last
    if isinstance(gold, Ragged):
        return [_tagged(vocab, examples.examples, predictions, gold, names, row) for row in rows.tolist()]
    text = examples.examples
    sides = (text.source, text.target) if isinstance(text, Pairs) else (text,)
    return [
        {
            "texts": [vocab.decode(side.ids[row]) for side in sides],
            "gold": names[int(gold[row])],
            "predicted": names[int(predictions[row])],
        }
        for row in rows.tolist()
    ]


def _tagged(vocab: Vocab, sentences: Any, predictions: Any, gold: Any, names: list[str], row: int) -> dict[str, Any]:
    """A sentence as words, with the words that got another tag."""
    ids, words = sentences.ids[row], sentences.words[row]
    right, found = gold[row], predictions[row]
    spelt = [vocab.decode(ids[words == word]) for word in range(min(len(right), _WORDS))]
    wrong = [word for word in range(len(spelt)) if right[word] >= 0 and right[word] != found[word]]
    return {
        "texts": [" ".join(spelt)],
        "words": spelt,
        "wrong": [{"word": word, "gold": names[int(right[word])], "predicted": names[int(found[word])]}
                  for word in wrong],
    }  # fmt: skip
