"""Files of paraphrases, which the toy corpus lacks, made from its files of inference."""

from pathlib import Path

from interlace.core.files import atomic


def add_paraphrases(toy: Path) -> None:
    """Write the default files of `pawsx` into a toy corpus: entailments are paraphrases, other pairs are none."""
    for source in (toy / "nli").glob("*.tsv"):
        split, language = source.stem.split(".")
        target = toy / f"pawsx/{split}-{language}.tsv"
        if target.exists():  # written by the tests of another module
            continue
        with atomic(target) as partial:
            partial.write_text("".join(_rows(source)), encoding="utf-8")


def _rows(source: Path) -> list[str]:
    rows = []
    for line in source.read_text(encoding="utf-8").splitlines()[1:]:
        _, label, first, second, *_ = line.split("\t")
        rows.append(f"{first}\t{second}\t{int(label == 'entailment')}\n")
    return rows
