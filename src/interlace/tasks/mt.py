"""Machine translation: BLEU and chrF of an encoder-decoder's translations of a test set. Nothing is trained.

A target is a direction, such as `en-de`; a language alone means from `source` into it. BLEU is sacreBLEU's on raw text,
with its signature in the score's row. Tokenized BLEU is for comparison with papers that print it (Conneau & Lample 2019
by `multi-bleu.perl`, Romanian without diacritics on both sides).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.tasks import Scale, Scores
from interlace.tasks.common import files as task_files
from interlace.tasks.common import translation
from interlace.text import TextPairs
from interlace.text.word_tokenizers import WordTokenizerName

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone


class Mt(translation.TranslationTask):
    """BLEU of translations by beam search; `targets` are directions, such as `["en-de", "de-en"]`."""

    metric: ClassVar[str] = "bleu"
    same_scale: ClassVar[tuple[str, ...]] = ("tokenized bleu", "round-trip bleu")
    other_scales: ClassVar[dict[str, Scale]] = {
        "chrf": ("chrF", True),
        "length ratio": ("", None),  # 1 is best
        **translation.TranslationTask.other_scales,
    }

    files: task_files.Files = Field(
        "parallel/{split}.{source}-{target}.{language}",
        description="Parallel files under the data root: a pattern, or a table by split or 'test.en-de'. {language} is "
        "the source for one side and the target for the other; without it, both sides are in one file. Files of the "
        "opposite direction are used too.",
    )
    reader: task_files.ReaderSettings = Field("lines", description="Reader of the files, such as 'lines' or 'tsv'.")
    word_tokenizer: WordTokenizerName = Field(
        "unicode", description="Word tokenizer of 'tokenized bleu', such as 'moses' or 'by_language', as in papers."
    )
    round_trip: bool = Field(False, description="Also translate back, as the task 'round_trip': 'round-trip bleu'.")

    def query(self, split: str, language: str, root: Root) -> task_files.FileQuery:
        """Return what to look for in `files`: both sides of the direction."""
        direction = self.direction(language)
        return task_files.FileQuery(self.name, split, direction.target, root, direction.source)

    def examples(self, split: str, language: str, vocab: Vocab, root: Root) -> translation.SourceLines:
        """Read the raw lines of both sides, without those where one is empty."""
        direction = self.checked_direction(language)
        chunks = [chunk for _, chunk in self.read_chunks(self.query(split, language, root))]
        pairs = [pair for chunk in chunks for pair in zip(chunk.source.lines, chunk.target.lines, strict=True)]
        kept = [pair for pair in pairs if all(map(str.strip, pair))]
        if not kept:
            raise DataError(f"{self.name}: the {split} data of {direction} is empty: no line has text on both sides")
        sources, references = map(list, zip(*kept, strict=True))
        return translation.SourceLines(
            direction, sources, references, vocab.encode(sources, language=direction.source).lengths
        )

    def read_chunks(self, query: task_files.FileQuery) -> task_files.Chunks[TextPairs]:
        """Read both sides, from files of the direction or of the opposite one."""
        parts, languages = self._parts(query), [query.source, query.language]
        return task_files.read_text(self.name, self.reader, languages, TextPairs, *(parts[side] for side in languages))

    def read_files(self, split: str, language: str, root: Root) -> list[Path]:
        """Return the files of both sides, of the direction or the opposite one."""
        query = self.query(split, language, root)
        parts = self._parts(query)
        return [part.path for side in (query.language, query.source) for part in parts[side]]

    def _parts(self, query: task_files.FileQuery) -> dict[str, list[task_files.FilePart]]:
        """Return the files of each side, by language."""
        missing, pair = [], sorted((query.source, query.language))
        for source, target in ((query.source, query.language), (query.language, query.source)):
            way = task_files.FileQuery(self.name, query.split, target, query.root, source)
            try:
                return {language: task_files.find_parts(self.files, way, language) for language in pair}
            except task_files.MissingDataError as error:
                missing.append(str(error))
        one, other = sorted(missing)
        raise task_files.MissingDataError(f"{one}; opposite direction: {other.removeprefix(f'{self.name}: ')}")

    def compare(
        self, examples: translation.SourceLines, outputs: list[str], back: list[str]
    ) -> dict[str, translation.TextMetric]:
        """Compare the outputs with the references, and what came back with the sources."""
        target, references = examples.direction.target, examples.references
        ours, theirs = (self.normalized(lines, target) for lines in (outputs, references))
        words = translation.tokenized_bleu(
            ours, theirs, target, word_tokenizer=self.word_tokenizer, lower_case=self.lower_case
        )
        metrics = {
            "bleu": translation.bleu(outputs, references, target, tokenize=self.tokenize, lower_case=self.lower_case),
            "chrf": translation.chrf(outputs, references, lower_case=self.lower_case),
            "tokenized bleu": self.signed(words),
        }
        return metrics | ({"round-trip bleu": self.round_trip_bleu(examples, back)} if self.round_trip else {})

    def measure(self, backbone: Backbone, vocab: Vocab, examples: translation.SourceLines) -> Scores:
        """Return further `length ratio`, words of the outputs divided by words of the references as BLEU counts them.

        And `copied words, references`: what the references have in common with the sources, names and numbers. A model
        that copies much more than that has collapsed.
        """
        scores = super().measure(backbone, vocab, examples)
        outcomes: Any = scores.outcomes
        length, reference = outcomes.columns[:2].sum(axis=1)
        shares = translation.copied(examples.references, examples.sources)[1]
        scores.metrics["copied words, references"] = 100 * float(shares.mean())
        scores.metrics["length ratio"] = float(length / reference) if reference else 0.0
        return scores
