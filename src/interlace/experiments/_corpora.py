"""Corpora of a recipe: where their text stands, and which part of it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from interlace.core.names import LanguageName, PairName
from interlace.core.settings import Settings
from interlace.readers import READERS, Reader
from interlace.readers.common.subset import ROWS_PATTERN, RowSubset
from interlace.readers.hub import is_hub
from interlace.tasks._files import check_pattern

if TYPE_CHECKING:
    from pathlib import Path


class CorpusGroup(Settings):
    """Corpora of one kind: one a language, or one a pair of languages. Paths stand under the data root.

    `{language}`, `{pair}`, `{source}` and `{target}` in a path are filled in.
    """

    languages: list[LanguageName] = Field([], description="A corpus of single sentences for each of these languages.")
    pairs: list[PairName] = Field([], description="A corpus of translations for each of these, such as 'en-de'.")
    reader: dict[str, Any] | str = Field("lines", description="A reader's name, or a table with its settings.")
    train: list[str] = Field(
        [],
        description="Training files: patterns of paths, one a side for 'lines'. None: text that is only measured.",
    )
    dev: list[str] = Field([], description="Held-out files for perplexity, in the same form.")
    rows: str = Field(
        "",
        pattern=ROWS_PATTERN,
        description="Rows of the training files that are read, such as '0:14500'; from 0, the end left out. None: all.",
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of those rows that is read, drawn row by row (ALM, figure 5: K %). A smaller share is part "
        "of a larger one, and corpora of files that correspond keep corresponding rows.",
    )
    share_seed: int = Field(0, ge=0, description="Seed of that draw; the same for all seeds of a run.")

    @field_validator("train", "dev", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("train", "dev")
    @classmethod
    def _are_patterns(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            if is_hub(pattern):  # what is made of training text is found again by the content of files
                message = f"{pattern!r}: tasks read data sets of the hub; training text stands in files"
                raise ValueError(message)
        return [check_pattern(pattern, ("language", "pair", "source", "target")) for pattern in patterns]

    @field_validator("languages")
    @classmethod
    def _are_languages(cls, languages: list[str]) -> list[str]:
        for language in languages:
            if "-" in language:  # joins the two languages of a pair
                message = f"a language's name holds no '-', found {language!r}; write {language.replace('-', '_')!r}"
                raise ValueError(message)
        return languages

    def model_post_init(self, _context: Any) -> None:
        """A group holds languages or pairs; its reader must exist."""
        if bool(self.languages) == bool(self.pairs):
            message = "give either 'languages' or 'pairs'"
            raise ValueError(message)
        if not self.train and not self.dev:
            message = "give 'train', or 'dev' alone for text that is measured and not learnt from"
            raise ValueError(message)

    @property
    def trained(self) -> list[str]:
        """The languages or pairs that are learnt from."""
        return [*self.languages, *self.pairs] if self.train else []

    def files(self, split: str, corpus: str, root: Path) -> list[Path]:
        """The files of one corpus of this group."""
        source, _, target = corpus.partition("-")
        names = {"language": corpus, "pair": corpus, "source": source, "target": target}
        patterns: list[str] = getattr(self, split)
        return [root / pattern.format(**names) for pattern in patterns]

    def reading(self, split: str = "train") -> Reader:
        """What reads the files of a split: of training text, the rows and the share that are asked for."""
        if split != "train" or not self._is_part:
            reader: Reader = READERS.build(self.reader)
            return reader
        return RowSubset(reader=self.reader, rows=self.rows, share=self.share, seed=self.share_seed)

    def part(self, split: str = "train") -> dict[str, Any]:
        """What `reading` leaves out hangs on, for the keys of caches; empty where it leaves out nothing."""
        if split != "train" or not self._is_part:
            return {}
        return {"rows": self.rows, "share": [self.share, self.share_seed] if self.share < 1 else None}

    @property
    def _is_part(self) -> bool:
        return bool(self.rows) or self.share < 1
