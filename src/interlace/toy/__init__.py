"""The toy corpus: abstract scenes, put into words by the small grammars of `toy.languages`.

Every sentence comes with gold words, tags, names and trees, and every pair of sentences with a gold alignment.
"""

from interlace.toy.concepts import CONCEPTS
from interlace.toy.corpus import ToyCorpus, write_toy
from interlace.toy.languages import LANGUAGES, ToyLanguage, language, links, pairs, text
from interlace.toy.sampling import sample
from interlace.toy.scenes import (
    ANSWER_ROLES,
    SPLITS,
    Phrase,
    Scene,
    answerable_roles,
    is_valid,
    split_of,
)
from interlace.toy.sentences import ToySentence, ToyWord

__all__ = [
    "ANSWER_ROLES",
    "CONCEPTS",
    "LANGUAGES",
    "SPLITS",
    "Phrase",
    "Scene",
    "ToyCorpus",
    "ToyLanguage",
    "ToySentence",
    "ToyWord",
    "answerable_roles",
    "is_valid",
    "language",
    "links",
    "pairs",
    "sample",
    "split_of",
    "text",
    "write_toy",
]  # fmt: skip
