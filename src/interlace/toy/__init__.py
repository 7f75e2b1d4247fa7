"""The toy corpus: abstract scenes, put into words by the small grammars of `toy.languages`.

Every sentence comes with gold words, tags, names and trees, and every pair of sentences with a gold alignment.
"""
