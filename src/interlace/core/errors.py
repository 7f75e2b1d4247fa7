"""Errors for users: each message says what was found, where, what is expected, and the nearest match.

Every error that a user can cause is an `InterlaceError`; the command line prints its message and exits with code 2.
A traceback is therefore always a bug of ours.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec

from interlace.core.display import listed, message


class InterlaceError(Exception):
    """An error in the user's input; the message says what, where and how to fix it."""

    def __str__(self) -> str:
        """Return the message as it may be shown: without terminal escapes and secrets, of bounded length."""
        return message(super().__str__())


class SettingsError(InterlaceError):
    """A recipe or an option has an unknown key or an invalid value."""


class DataError(InterlaceError):
    """A file or a corpus is missing, empty, damaged, or in another format than expected."""


class CheckpointError(InterlaceError):
    """A checkpoint is damaged or belongs to another model."""


class RunError(InterlaceError):
    """A run folder cannot be used, for example because another process has locked it."""


class LockedError(RunError):
    """Another process holds a lock."""


class LostProcessError(RunError):
    """Another process of a distributed run has ended."""


# the extra that installs an optional package, by the name that is imported
EXTRAS = {
    "accelerate": "train",
    "datasets": "hub",
    "distributed": "dask",
    "gensim": "vectors",
    "huggingface_hub": "train",
    "jieba": "words-zh",
    "peft": "lora",
    "pyarrow": "arrow",
    "pythainlp": "words-th",
    "sacrebleu": "translate",
    "sacremoses": "words-moses",
    "scipy": "syntax",
    "sklearn": "train",
    "sudachidict_core": "words-ja",
    "sudachipy": "words-ja",
    "tensorboard": "tensorboard",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "train",
}


class MissingDependencyError(InterlaceError):
    """An optional package is not installed; the message names its extra and the pip command."""

    def __init__(self, package: str, needed_by: str = "this") -> None:
        what = f"the package {package!r}"
        wanted = package
        if package in EXTRAS:
            extra = EXTRAS[package]
            what = f"the extra {extra!r} (package {package!r})"
            wanted = f"'interlace[{extra}]'"
        super().__init__(f"{needed_by} needs {what}: pip install {wanted}")


def require(package: str, needed_by: str) -> None:
    """Raise a MissingDependencyError if an optional package is not installed; it is not imported."""
    if find_spec(package) is None:
        raise MissingDependencyError(package, needed_by)


@contextmanager
def dependency_errors(needed_by: str = "") -> Iterator[None]:
    """Convert the error of importing an optional package that is not installed to MissingDependencyError.

    needed_by: what needs the packages that are imported; default: only those of `EXTRAS` are converted.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not needed_by and package not in EXTRAS:
            raise
        raise MissingDependencyError(package, needed_by or "this") from error


_MAX_COMPARED = 100  # characters of a name that is compared with others


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Return `"; did you mean 'mlm'?"` if an option is similar, else the first options.

    >>> did_you_mean("mml", ["mlm", "tlm"])
    "; did you mean 'mlm'?"
    >>> did_you_mean("zebra", ["mlm", "tlm"])
    '; there are: mlm, tlm'
    """
    options = sorted(options)
    if not options:
        return "; there are none"
    return nearest(word, options) or f"; there are: {listed(options)}"


def nearest(word: str, options: Iterable[str]) -> str:
    """Return `"; did you mean 'mlm'?"` if an option is similar, else an empty string.

    >>> nearest("zebra", ["mlm", "tlm"])
    ''
    """
    comparable = sorted(option for option in options if len(option) <= _MAX_COMPARED)
    close = get_close_matches(word[:_MAX_COMPARED], comparable, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
