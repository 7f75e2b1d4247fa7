"""Downloads of public corpora and test sets, in the layout that recipes expect; `downloads.toml` is the index.

`downloads.json` in the folder records the SHA-256 of what was fetched and of the files made from it.
"""

import errno
import json
import os
import re
import shutil
import stat
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import file_digest
from http.client import HTTPException
from importlib.resources import files
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from typing_extensions import TypedDict

from interlace import __version__
from interlace.core.display import listed
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.files import atomic, file_lock, open_no_link
from interlace.core.hub import is_reachable
from interlace.core.json_files import json_record, read_json, write_json
from interlace.core.progress import Progress, no_progress
from interlace.text.lines import COMPRESSED, lines_of, plain_name, read_blocks, read_lines, writing

RECORD = "downloads.json"
_STAGING = ".download-"  # begins the names of folders of files that are not complete
ARCHIVES = "archives"  # the folder of what is fetched, until it is converted
UNTESTED = "untested upstream"  # of every entry: its address was never fetched by the tests
_TIMEOUT = 30.0  # seconds without a byte
_BLOCK = 1 << 20
_MAX_RATIO = 100  # bytes of an archive's files to its own; text compresses 3 to 10 times
_HTML = re.compile(r"\s*<(!doctype|html|head)\b", re.IGNORECASE)
_FIRST_LINES = {  # how the first line begins, by the end of a file's name
    ".json": (re.compile(r"\s*[{\[]"), "JSON"),
    ".conllu": (re.compile(r"#|\d+(-\d+)?\t"), "CoNLL-U"),
    ".tsv": (re.compile(r"[^\t]*\t"), "columns separated by tabs"),
}
_TABLE = "a table with a column 'language'"
_DIVIDED = {"column": _TABLE, "translated": _TABLE, "question_id": "the JSON of TyDi QA"}
_LANGUAGES = {"language", "context", "question"}  # placeholders
_TYDIQA = {"arabic": "ar", "bengali": "bn", "english": "en", "finnish": "fi", "indonesian": "id", "korean": "ko"}
_TYDIQA |= {"russian": "ru", "swahili": "sw", "telugu": "te"}


@dataclass(frozen=True)
class DownloadEntry:
    """An entry of the index; the fields are those of `downloads.toml`."""

    name: str
    about: str
    license: str
    size: str
    files: list[dict[str, Any]]
    languages: list[str] = field(default_factory=list)
    pairs: bool = False
    splits: list[str] = field(default_factory=list)  # default: all
    values: dict[str, str] = field(default_factory=dict)  # of placeholders

    def row(self) -> dict[str, Any]:
        """Return what a list of entries shows."""
        languages = "pairs such as en-de" if self.pairs else " ".join(self.languages)
        version = f" ({self.values['version']})" if "version" in self.values else ""
        row = {"name": self.name, "languages": languages, "size": self.size, "license": self.license}
        return {**row, "about": f"{self.about}{version}", "status": UNTESTED}


@dataclass(frozen=True)
class _Source:
    """What becomes of the file at an address. pattern: of the members of an archive; None: the file itself."""

    address: str
    pattern: re.Pattern[str] | None
    file: dict[str, Any]  # of the index
    values: dict[str, str]
    languages: tuple[str, ...]


@json_record
class _Recorded(TypedDict):
    """What the record has of an address."""

    sha256: str
    date: str
    languages: list[str]
    files: dict[str, str]


@cache
def _free_full_disk(error: Exception, *begun: Path) -> None:
    """Remove what was begun if the disk is full, which it would fill."""
    if getattr(error, "errno", None) == errno.ENOSPC:
        for path in begun:
            path.unlink(missing_ok=True)


def download_index() -> dict[str, DownloadEntry]:
    """Return the entries of the index by name."""
    text = files("interlace.experiments").joinpath("downloads.toml").read_text(encoding="utf-8")
    own, found = {each.name for each in fields(DownloadEntry)}, {}
    for name, common in tomllib.loads(text).items():
        languages = common.pop("languages", "").split()
        for item, more in common.pop("items", {"": {}}).items():
            whole, entry = f"{name}/{item}" if item else name, {**common, **more}
            values = {"item": item, **{key: value for key, value in entry.items() if key not in own}}
            known = {key: value for key, value in entry.items() if key in own}
            found[whole] = DownloadEntry(whole, languages=languages, values=values, **known)
    return found


def download(
    names: Iterable[str], folder: Path | str, mirror: str = "", progress: Progress = no_progress
) -> list[Path]:
    """Fetch entries of the index, convert them and write them under a folder; return the files.

    Files that the record names are verified and not fetched again. Run again to resume an interrupted fetch.

    names: `NAME`, `NAME:LANGUAGE,..` or `NAME:PAIR,..`; `@VERSION` after `NAME` selects another version.
    folder: where `archives` and `downloads.json` are, too.
    mirror: an address in place of `https://`: the host of an address is the first folder there.
    progress: called with the bytes of an address.

    Raises:
        SettingsError: there is no such entry, language or pair; names the nearest.
        DataError: the server cannot be reached (says what to put where), an archive or file is not the expected one, or
            a file that comes from elsewhere would be replaced.
    """
    by_address: dict[str, list[_Source]] = {}
    for source in (source for name in names for source in _sources(name)):
        by_address.setdefault(source.address, []).append(source)
    folder = Path(folder)
    with file_lock(folder / f".{RECORD}.lock"):
        for left in folder.glob(f"{_STAGING}*"):  # of a killed download
            shutil.rmtree(left)
        return [
            path
            for address, sources in by_address.items()
            for path in _Download(folder, address, mirror, progress).files(sources)
        ]


# ---- the index ----


def _sources(name: str) -> Iterator[_Source]:
    name, _, chosen = name.partition(":")
    entry = find_download(*name.partition("@")[::2])
    for pair, languages in _chosen(entry, [part for part in chosen.split(",") if part]):
        source, _, target = pair.partition("-")
        known = {**entry.values, "pair": pair, "sorted": "-".join(sorted((source, target)))} if pair else entry.values
        for file in entry.files:
            splits = [split for split in file.get("splits", [""]) if not entry.splits or split in entry.splits]
            free = {"split": splits, **dict.fromkeys(_LANGUAGES, languages)}
            in_address = [name for name in free if f"{{{name}}}" in file["address"]]
            for choice in product(*(free[name] for name in in_address)):
                values = {**known, **dict(zip(in_address, choice, strict=True))}
                pattern = _pattern(file["member"], values, free) if "member" in file else None
                kept = (values["language"],) if "language" in values else tuple(languages)
                yield _Source(file["address"].format(**values), pattern, file, values, kept)


def find_download(name: str, version: str = "") -> DownloadEntry:
    """Return an entry of the index, or any corpus of OPUS with a version; a SettingsError names the nearest."""
    index = download_index()
    collection, _, item = name.partition("/")
    entry = index.get(name)
    if version and not re.fullmatch(r"\w[\w.-]*", version):
        raise SettingsError(f"{name}: {version!r} is no version, expected one such as v2018 or r2.15")
    if entry is None and collection == "opus" and re.fullmatch(r"\w[\w.-]*", item) and version:
        entry = replace(index["opus/Tatoeba"], name=name, values={"item": item, "version": version})
    if entry is None:
        hint = " (other corpora of OPUS need a version: opus/CORPUS@VERSION)" if collection == "opus" else ""
        raise SettingsError(f"there is no download {name!r}{did_you_mean(name, index)}{hint}")
    if version and "version" not in entry.values:
        raise SettingsError(f"{name}: has no versions, found @{version}")
    return replace(entry, values={**entry.values, "version": version}) if version else entry


def _chosen(entry: DownloadEntry, chosen: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each pair with its languages, or an empty string and all languages."""
    if chosen and not entry.pairs and not entry.languages:
        raise SettingsError(f"{entry.name}: has no languages to choose from, found {listed(chosen)}")
    if entry.pairs and not chosen:
        raise SettingsError(f"{entry.name}: name the language pairs, such as {entry.name}:en-de,en-fr")
    named = list(dict.fromkeys(code for each in chosen for code in each.split("-"))) or entry.languages  # en-de: both
    parts = {pair: pair.split("-") for pair in chosen} if entry.pairs else {"": named}
    for pair, languages in parts.items():
        if pair and not re.fullmatch(r"(\w+)-(?!\1$)\w+", pair):
            raise SettingsError(f"{entry.name}: {pair!r} is no language pair, expected one such as en-de")
        for language in languages if entry.languages else ():
            if language not in entry.languages:
                raise SettingsError(f"{entry.name}: no language {language!r}{did_you_mean(language, entry.languages)}")
        yield pair, languages


def _pattern(member: str, values: dict[str, str], free: dict[str, list[str]]) -> re.Pattern[str]:
    """Return what matches a member's whole path by its end; unknown placeholders become groups."""
    regex = "(?:.*/)?"
    for number, part in enumerate(re.split(r"\{(\w+)\}", member)):
        if number % 2 == 0:
            regex += re.escape(part)
        elif part in values:
            regex += re.escape(values[part])
        elif f"(?P<{part}>" in regex:
            regex += f"(?P={part})"
        else:
            regex += f"(?P<{part}>{'|'.join(map(re.escape, free.get(part, []))) or '[^/.]+'})"
    return re.compile(regex)


def download_hint(message: str) -> str:
    """Return the command that fetches the missing files of the index that an error names, as its end; else "".

    >>> download_hint("xnli: there is no file data/nli/test.de.tsv; and 1 more, of sw")
    '; to fetch them: interlace download xnli:de,sw -o data'
    """
    entries = [(entry, file) for entry in download_index().values() for file in entry.files]
    layout = [
        (entry, into, entry.splits or file.get("splits", []))
        for entry, file in entries
        for into in ([file["into"]] if isinstance(file["into"], str) else file["into"])
    ]
    found: dict[Path, dict[str, dict[str, None]]] = {}  # folder -> name -> languages or pairs
    last: dict[str, None] = {}
    for word, more in re.findall(r"([^\s'\"]+/[^\s'\",:;]+)|; and \d+ more, of ([\w, ]+)", message):
        last |= dict.fromkeys(more.split(", ") if more and last else ())
        for entry, into, splits in layout if word and not Path(word).exists() else ():
            free = {"split": splits, **dict.fromkeys(_LANGUAGES, entry.languages)}
            if match := _pattern(into, entry.values, free).fullmatch(word):
                chosen = match.groupdict().get("pair") or match.groupdict().get("language")
                name = "opus/CORPUS" if entry.name.startswith("opus/") else entry.name
                last = found.setdefault(Path(word).parents[into.count("/")], {}).setdefault(name, {})
                last |= {chosen: None} if chosen else {}
                break
    commands = []
    for root, named in found.items():
        names = [f"{name}:{','.join(chosen)}" if chosen else name for name, chosen in named.items()]
        commands.append(f"interlace download {' '.join(names)} -o {root}")
    return f"; to fetch them: {' and '.join(commands)}" if found else ""


# ---- one address ----


class _Download:
    """Fetches one address and converts it."""

    def __init__(self, folder: Path, address: str, mirror: str, progress: Progress) -> None:
        self.folder, self.address, self.progress = folder, address, progress
        place = urlsplit(address)
        self.url = f"{mirror.rstrip('/')}/{place.netloc}{place.path}" if mirror else address
        if urlsplit(self.url).scheme not in {"http", "https"}:
            raise SettingsError(f"{self.url}: expected an address that begins with http:// or https://")
        if "@" in urlsplit(self.url).netloc:
            raise SettingsError(f"{self.url}: expected an address without a user and a password")
        self.archive = folder / ARCHIVES / place.netloc / place.path.lstrip("/")
        self.mark = self.archive.with_name(f"{self.archive.name}.fetched")  # beside archives that are removed later

    def files(self, sources: list[_Source]) -> list[Path]:
        """Return the files made of the address, fetched unless they are there; raise a DataError if one has changed."""
        remedy = "delete it to download everything again"
        record = read_json(self.folder / RECORD, dict[str, _Recorded], {}, remedy=remedy)
        own = record.setdefault(self.address, {"languages": [], "files": {}})
        wanted = {language for source in sources for language in source.languages}
        left = {name: digest for name, digest in own["files"].items() if (self.folder / name).is_file()}
        for name, digest in left.items():
            if _digest(self.folder / name) != digest:
                message = "changed since it was downloaded; delete it to download it again"
                raise DataError(f"{self.folder / name}: {message}")
        known = {*own["languages"]} if left == own["files"] else set()
        if not left or not wanted <= known:
            given = self.archive.is_file() and not self.mark.is_file()
            if not self.archive.is_file():
                self._fetch()
            digest = _digest(self.archive)
            if own.setdefault("sha256", digest) != digest:
                if not given:
                    self._remove()
                raise DataError(
                    f"{self.address}: SHA-256 {digest}, but {own['sha256']} at the first download ({own['date']}). The "
                    f"file changed or is damaged; delete its entry in {self.folder / RECORD} to accept the new one"
                )
            others = {name for address, one in record.items() if address != self.address for name in one["files"]}
            own["files"] = left | self._convert(sources, {*left}, others)
            own["languages"] = sorted(known | wanted)
            own.setdefault("date", datetime.now(UTC).date().isoformat())
            write_json(self.folder / RECORD, record)
            if not given:
                self._remove()
        return [self.folder / name for name in sorted(own["files"])]

    def _remove(self) -> None:
        self.archive.unlink()
        self.mark.unlink()

    def _fetch(self) -> None:
        """Fetch the file, from where an interrupted fetch stopped if the server's copy is still the same."""
        where = f"fetch {self.address} by other means, put it at {self.archive}, and run the same command"
        if not is_reachable(self.url):
            raise DataError(f"{urlsplit(self.url).netloc} cannot be reached; {where}")
        begun, state = (self.archive.with_name(f"{self.archive.name}{suffix}") for suffix in (".partial", ".etag"))
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        start = begun.stat().st_size if begun.is_file() and state.is_file() else 0
        headers = {"User-Agent": f"interlace/{__version__}", "Accept-Encoding": "identity"}
        if start:
            headers |= {"Range": f"bytes={start}-", "If-Range": state.read_text(encoding="utf-8")}
        total = None
        try:
            request = Request(self.url, headers=headers)  # noqa: S310 - the scheme is http or https
            with build_opener(_Redirects).open(request, timeout=_TIMEOUT) as response:
                found = response.headers
                if found.get_content_type() in {"text/html", "application/xhtml+xml"}:
                    raise DataError(f"{self.url}: gives a web page, expected a file; if it needs a login, {where}")
                resumed = self._is_rest(response, start, begun)
                done = start if resumed else 0
                total = done + int(found["Content-Length"]) if found["Content-Length"] else None
                tag = found["ETag"] or found["Last-Modified"]
                if tag and not tag.startswith("W/"):
                    with atomic(state) as partial:
                        partial.write_text(tag, encoding="utf-8")
                else:
                    state.unlink(missing_ok=True)
                with open_no_link(begun, "ab" if resumed else "wb") as file:
                    while block := response.read(_BLOCK):
                        file.write(block)
                        done += len(block)
                        self.progress(f"bytes of {self.archive.name}", done, total or 0)
        except HTTPError as error:
            if error.code == 416 and start:  # the partial file does not fit the server's
                begun.unlink()
                self._fetch()
                return
            raise DataError(f"{self.url}: HTTP {error.code} {error.reason}; if it has moved, {where}") from error
        except (URLError, HTTPException, OSError, ValueError) as error:
            _free_full_disk(error, begun, state)
            raise DataError(f"{self.url}: {error}; run the same command to resume, or {where}") from error
        if total is not None and done != total:
            raise DataError(f"{self.url}: ended after {done:,} of {total:,} bytes; run the same command to resume")
        open_no_link(self.mark, "ab").close()
        os.replace(begun, self.archive)
        state.unlink(missing_ok=True)

    def _is_rest(self, response: Any, start: int, begun: Path) -> bool:
        """Return whether a response is the file from `start` on, otherwise it is all of it."""
        place = response.headers["Content-Range"] or "missing"
        if response.status == 206 and not place.startswith(f"bytes {start}-"):
            begun.unlink(missing_ok=True)
            message = f"HTTP 206, Content-Range {place}, expected bytes {start}-"
            raise DataError(f"{self.url}: {message}; run the same command to fetch it from the start")
        return bool(response.status == 206)

    def _convert(self, sources: list[_Source], own: set[str], others: set[str]) -> dict[str, str]:
        """Write the files and return their SHA-256 by name; all appear at the end."""
        with TemporaryDirectory(prefix=_STAGING, dir=self.folder) as staging:
            seen = set[str]()
            try:
                for source, values, lines in self._texts(sources):
                    try:
                        seen |= _write(lines, source, values, Path(staging))
                    except (LookupError, ValueError, TypeError, AttributeError) as error:
                        if "divide" not in source.file:
                            raise
                        message = f"expected {_DIVIDED[source.file['divide']]}, found {type(error).__name__}: {error}"
                        raise DataError(f"{self.archive}: {message}; delete it and download it again") from error
            except (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, zlib.error, RuntimeError) as error:
                raise DataError(f"{self.archive}: damaged archive: {error}; delete it and download it again") from error
            by_language = [
                source
                for source in sources
                if "divide" in source.file or (source.pattern and {*source.pattern.groupindex} & _LANGUAGES)
            ]
            promised = {language for source in by_language for language in source.languages}
            if missing := promised - seen:
                raise DataError(f"{self.archive}: no text in {listed(sorted(missing))}, which the index promises")
            made = {path.relative_to(staging).as_posix(): path for path in Path(staging).rglob("*") if path.is_file()}
            if not made:
                raise DataError(f"{self.archive}: holds none of the expected files; it is not what the index describes")
            digests = {name: self._checked(name, path) for name, path in made.items()}
            for name, digest in digests.items():
                path = self.folder / name
                if name in others or (name not in own and path.exists() and _digest(path) != digest):
                    raise DataError(f"{path}: exists and comes from elsewhere; choose another folder")
            for name, path in made.items():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, self.folder / name)
            return digests

    def _checked(self, name: str, path: Path) -> str:
        """Return a file's SHA-256; raise a DataError unless its first line that is not empty fits the kind of file."""
        lines = read_lines(path) if any(read_blocks(path)) else iter(())
        first = next(filter(str.strip, lines), "")
        suffix = ".tsv" if name.startswith("dict/") else plain_name(name).suffix
        pattern, kind = _FIRST_LINES.get(suffix, (re.compile(""), "text"))
        if _HTML.match(first) or not pattern.match(first):
            message = f"expected {kind}, found {first[:60]!r}; delete {self.archive} and download it again"
            raise DataError(f"{self.address}: {message}")
        return _digest(path)

    def _texts(self, sources: list[_Source]) -> Iterator[tuple[_Source, dict[str, str], Iterable[str]]]:
        """Yield the lines of the file, or of the members of the archive, with the values of placeholders."""
        limit = _Limit(self.archive)
        if self.archive.suffix in COMPRESSED and any(source.pattern is None for source in sources):
            for block in read_blocks(self.archive):
                limit.add(len(block))
        yield from ((source, source.values, read_lines(self.archive)) for source in sources if source.pattern is None)
        if any(source.pattern for source in sources):
            with self.archive.open("rb") as file:
                for name, stream in _members(file, self.archive.name, limit):
                    for source in sources:
                        if source.pattern and (match := source.pattern.fullmatch(name)):
                            yield source, source.values | match.groupdict(), lines_of(stream, f"{self.archive}: {name}")
                            break


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to http and https, but not from https to http."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme not in {req.type, "https"}:
            raise URLError(f"redirected to {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


# ---- archives and conversion ----


class _Limit:
    """Counts the bytes that come out of an archive, and out of archives in it."""

    def __init__(self, archive: Path) -> None:
        self.archive, self.limit, self.total = archive, _MAX_RATIO * archive.stat().st_size + _BLOCK, 0

    def add(self, count: int) -> None:
        """Add bytes; raise a DataError if they are too many."""
        self.total += count
        if self.total > self.limit:
            message = f"its contents have more than {self.limit:,} bytes, {_MAX_RATIO} times its own"
            raise DataError(f"{self.archive}: {message}")


def _members(file: IO[bytes], name: str, limit: _Limit) -> Iterator[tuple[str, Any]]:
    """Yield the files of an archive, and those of `.tar.gz` files in it, with their paths.

    Links and devices are left out. Paths are only compared with the index: nothing is written under them.
    """
    for member, size, opened in (_in_zip if name.endswith(".zip") else _in_tar)(file):
        limit.add(size)
        with opened() as stream:
            if member.endswith((".tar.gz", ".tgz")):
                inner = _members(stream, member, limit)
                yield from ((f"{member}/{path.removeprefix('./')}", part) for path, part in inner)
            else:
                yield member, stream


def _in_zip(file: IO[bytes]) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Yield path, size and a function that opens it, of each file."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.is_dir() and stat.S_IFMT(info.external_attr >> 16) in {0, stat.S_IFREG}:
                yield info.filename, info.file_size, partial(archive.open, info)


def _in_tar(file: IO[bytes]) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """Yield the same of a tar file."""
    with tarfile.open(fileobj=file, mode="r|gz") as archive:
        yield from ((entry.name, entry.size, partial(archive.extractfile, entry)) for entry in archive if entry.isreg())


def _write(lines: Iterable[str], source: _Source, values: dict[str, str], staging: Path) -> set[str]:
    """Write the lines as the index says; return the languages that they are in."""
    file, into = source.file, source.file["into"]
    seen = {values[name] for name in _LANGUAGES if name in values}
    if divide := file.get("divide"):
        languages, rows = source.languages, _DIVIDE[divide](lines)
    else:
        pattern, text = file.get("replace", ("", ""))
        regex = re.compile(pattern)
        languages = (values.get("language", ""),)
        rows = ((None, regex.sub(text, line, count=1)) for line in islice(lines, file.get("skip", 0), None))
    with ExitStack() as stack:
        write = {
            language: [
                stack.enter_context(writing(staging / path.format(**{**values, "language": language})))
                for path in ([into] if isinstance(into, str) else into)
            ]
            for language in languages
        }
        for own, line in rows:
            for language in languages if own is None else (own,):
                for each in write.get(language, ()):
                    each((line,))
            if own is not None:
                seen.add(own)
    return seen


def _by_column(lines: Iterable[str], into: str = "") -> Iterator[tuple[str | None, str]]:
    """Yield rows with their language, and the header for all. into: the language they were translated into."""
    rows = iter(lines)
    header = next(rows, "")
    column = header.split("\t").index("language")
    yield None, header
    for row in rows:
        cells = row.split("\t")
        yield cells[column], "\t".join([*cells[:column], into or cells[column], *cells[column + 1 :]])


def _by_question_id(lines: Iterable[str]) -> Iterator[tuple[str | None, str]]:
    """Yield TyDi QA's articles by language, which begins the ids of questions, as a JSON document each."""
    whole = json.loads("\n".join(lines))
    articles: dict[str, list[Any]] = {}
    for article in whole["data"]:
        name = article["paragraphs"][0]["qas"][0]["id"].partition("-")[0]
        articles.setdefault(_TYDIQA.get(name, name), []).append(article)
    for language, data in articles.items():
        yield language, json.dumps({**whole, "data": data}, ensure_ascii=False)


_DIVIDE: dict[str, Callable[[Iterable[str]], Iterator[tuple[str | None, str]]]] = {
    "column": _by_column,
    "translated": partial(_by_column, into="en"),
    "question_id": _by_question_id,
}
