"""Downloads: miniatures in the format of the public files, from a server on the loopback interface."""

import gzip
import http.server
import io
import itertools
import json
import re
import socket
import tarfile
import threading
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core.errors import DataError, SettingsError
from interlace.experiments import download as module
from interlace.experiments.download import RECORD, download, download_hint, download_index
from interlace.readers import READERS
from interlace.text.lines import read_lines


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `files` by path, with ranges; ends after `cut` bytes if that is not None."""

    files: dict = {}
    log: list = []
    cut = None
    more: dict = {}  # headers; None removes one
    refused = 0  # ranges to answer by 416

    def do_GET(self):
        path = urlsplit(self.path).path
        self.log.append((path, self.headers["Range"]))
        body = self.files.get(path)
        if isinstance(body, str):
            self.send_response(302)
            self.send_header("Location", body)
            self.end_headers()
            return
        if body is None:
            self.send_error(404)
            return
        start = 0
        tag = f'"{hash(body)}"'
        sent = {"ETag": tag}
        if self.headers["Range"] and self.refused:
            type(self).refused -= 1
            self.send_error(416)
            return
        if self.headers["Range"] and self.headers["If-Range"] == tag:
            start = int(re.fullmatch(r"bytes=(\d+)-", self.headers["Range"])[1])
            self.send_response(206)
            sent["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        else:
            self.send_response(200)
        for name, value in (sent | {"Content-Length": str(len(body) - start)} | self.more).items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[start : None if type(self).cut is None else start + type(self).cut])

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(Server, "files", {})
    monkeypatch.setattr(Server, "log", [])
    monkeypatch.setattr(Server, "cut", None)
    monkeypatch.setattr(Server, "more", {})
    monkeypatch.setattr(Server, "refused", 0)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        Server.mirror = f"http://127.0.0.1:{running.server_port}"
        yield Server
        running.shutdown()


def zipped(members, mode=0o100644):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return file.getvalue()


def tarred(members, kind=tarfile.REGTYPE):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(data.encode()), kind, "x"
            archive.addfile(info, io.BytesIO(data.encode()))
    return file.getvalue()


NLI = "language\tgold_label\tsentence1_binary_parse\tsentence1\tsentence2\tpairID\n"
NLI += 'ar\tneutral\t\tأ\tب\t1\nde\tentailment\t\tEin "A".\tB.\t1\nde\tcontradiction\t\tC.\tD.\t2\n'
PAWS = "id\tsentence1\tsentence2\tlabel\n1\ta b\tb a\t0\n2\tc\tNS\t1\n"
PANX = "de:Ada\tB-PER\nde::\tO\n\nde:Ulm\tB-LOC\n"
TYDI = {
    "version": "1.1",
    "data": [
        {"paragraphs": [{"qas": [{"question": "q", "id": f"{name}-1-0", "answers": []}], "context": "c"}]}
        for name in ("korean", "swahili", "korean")
    ],
}
META, RAW = "dl.fbaipublicfiles.com", "raw.githubusercontent.com"
SPLITS, SIDES = ("train", "dev", "test"), ("ne", "en")


def each(name, value, **choices):
    """A name for every combination of choices, with the same value."""
    combinations = (dict(zip(choices, choice, strict=True)) for choice in itertools.product(*choices.values()))
    return {name.format(**combination): value for combination in combinations}


PUBLIC = {  # name to download -> files by address, and files expected with their lines
    "opus/Tanzil:en-ur": (
        {
            "object.pouta.csc.fi/OPUS-Tanzil/v1/moses/en-ur.txt.zip": zipped(
                {
                    "README": "x",
                    "Tanzil.en-ur.en": "one\ntwo\n",
                    "Tanzil.en-ur.ur": "ایک\nدو\n",
                    "Tanzil.en-ur.ids": "x",
                }
            )
        },
        {"parallel/en-ur.en.txt": ["one", "two"], "parallel/en-ur.ur.txt": ["ایک", "دو"]},
    ),
    "opus/Europarl@v7:en-de": (
        {
            "object.pouta.csc.fi/OPUS-Europarl/v7/moses/de-en.txt.zip": zipped(
                each("Europarl.de-en.{a}", "a\n", a=("de", "en"))
            )
        },
        each("parallel/en-de.{a}.txt", ["a"], a=("de", "en")),
    ),
    "ud/German-PUD": (
        {f"{RAW}/UniversalDependencies/UD_German-PUD/r2.15/de_pud-ud-test.conllu": b"# text = a\n"},
        {"pos/UD_German-PUD/de_pud-ud-test.conllu": ["# text = a"]},
    ),
    "xnli:ar,de": (
        {
            f"{META}/XNLI/XNLI-1.0.zip": zipped(
                {"XNLI-1.0/": "", "__MACOSX/XNLI-1.0/._xnli.dev.tsv": "x"}
                | each("XNLI-1.0/xnli.{a}.tsv", NLI, a=SPLITS[1:])
            )
        },
        {
            name.format(split, language): [line for line in NLI.split("\n") if line[:2] in {language, "la"}]
            for name in ("nli/{}.{}.tsv", "nli/xnli/xnli.{}.{}.tsv.gz")
            for split in ("dev", "test")
            for language in ("ar", "de")
        },
    ),
    "xnli-train:sw": (
        {
            f"{META}/XNLI/XNLI-MT-1.0.zip": zipped(
                each("XNLI-MT-1.0/multinli/multinli.train.{a}.tsv", "a\tb\n", a=("de", "sw"))
                | {"XNLI-MT-1.0/xnli/xnli.test.en.tsv": "language\tsentence1\nde\tWe go\nsw\tGo de\n"}
            )
        },
        {"nli/train.sw.tsv": ["a\tb"], "nli/translated.sw.tsv": ["language\tsentence1", "en\tGo de"]},
    ),
    "pawsx:en,ko": (
        {
            "storage.googleapis.com/paws/pawsx/x-final.tar.gz": tarred(
                each("x-final/{a}/{b}_2k.tsv", PAWS, a=("en", "fr", "ko"), b=("dev", "test"))
                | {"x-final/en/train.tsv": PAWS, "x-final/ko/translated_train.tsv": PAWS}
            )
        },
        each("nli/pawsx/{a}-{b}.tsv.gz", ["a b\tb a\t0", "c\tNS\t1"], a=SPLITS, b=("en", "ko"))
        | each("pawsx/{a}-{b}.tsv", ["a b\tb a\t0", "c\tNS\t1"], a=SPLITS, b=("en", "ko")),
    ),
    "panx:de": (
        {
            "s3.amazonaws.com/datasets.huggingface.co/wikiann/1.1.0/panx_dataset.zip": zipped(
                each("{a}.tar.gz", tarred(each("{a}", PANX, a=(*SPLITS, "extra"))), a=("de", "fr"))
            )
        },
        each("ner/panx/{a}-de.tsv.gz", ["Ada\tB-PER", ":\tO", "", "Ulm\tB-LOC"], a=SPLITS)
        | each("ner/{a}.de.tsv", ["Ada\tB-PER", ":\tO", "", "Ulm\tB-LOC"], a=SPLITS),
    ),
    "xquad:el": ({f"{RAW}/google-deepmind/xquad/master/xquad.el.json": b"{}"}, {"qa/xquad/xquad.el.json": ["{}"]}),
    "mlqa:de,en": (
        {
            f"{META}/MLQA/MLQA_V1.zip": zipped(
                each(
                    "MLQA_V1/{a}/{a}-context-{b}-question-{c}.json",
                    "{}",
                    a=SPLITS[1:],
                    b=("de", "en", "vi"),
                    c=("de", "en"),
                )
            )
        },
        each("qa/mlqa/dev/dev-context-{a}-question-{b}.json.gz", ["{}"], a=("de", "en"), b=("de", "en"))
        | each("qa/mlqa/test/test-context-{a}-question-{b}.json", ["{}"], a=("de", "en"), b=("de", "en")),
    ),
    "tydiqa:ko": (
        each("storage.googleapis.com/tydiqa/v1.1/tydiqa-goldp-v1.1-{a}.json", json.dumps(TYDI).encode(), a=SPLITS[:2]),
        each(
            "qa/tydiqa-goldp/tydiqa.goldp.ko.{a}.json.gz",
            [json.dumps({**TYDI, "data": TYDI["data"][::2]})],
            a=SPLITS[:2],
        ),
    ),
    "squad": (
        each("rajpurkar.github.io/SQuAD-explorer/dataset/{a}-v1.1.json", b"{}", a=SPLITS[:2]),
        each("qa/squad/{a}-v1.1.json", ["{}"], a=SPLITS[:2]),
    ),
    "tatoeba:swh": (
        each(f"{RAW}/facebookresearch/LASER/main/data/tatoeba/v1/tatoeba.swh-eng.{{a}}", b"x", a=("swh", "eng")),
        each("parallel/tatoeba/tatoeba.swh-eng.{a}", ["x"], a=("swh", "eng")),
    ),
    "muse:en-de": (
        each(f"{META}/arrival/dictionaries/en-de{{a}}.txt", b"the die\nthe\tder\n", a=("", ".0-5000", ".5000-6500")),
        each("dict/muse/en-de{a}", ["the\tdie", "the\tder"], a=(".txt.gz", ".0-5000.txt", ".5000-6500.txt")),
    ),
    "flores-v1": (
        {
            "github.com/facebookresearch/flores/raw/main/previous_releases/floresv1/data/"
            "wikipedia_en_ne_si_test_sets.tgz": tarred(
                each("wikipedia_en_ne_si_test_sets/wikipedia.{a}.ne-en.{b}", "x", a=("dev", "devtest", "test"), b=SIDES)
            )
        },
        each("parallel/flores-v1/{a}.ne-en.{b}.gz", ["x"], a=("dev", "devtest", "test"), b=SIDES),
    ),
    "flores-200": (
        {
            f"{META}/nllb/flores200_dataset.tar.gz": tarred(
                {"./flores200_dataset/README": "x"}
                | each("./flores200_dataset/{a}/swh_Latn.{a}", "x", a=("dev", "devtest"))
            )
        },
        each("parallel/flores-200/{a}.swh_Latn", ["x"], a=("dev", "devtest")),
    ),
    "multi30k:cs": (
        each(
            f"{RAW}/multi30k/dataset/master/data/task1/raw/{{a}}.cs.gz",
            gzip.compress(b"a\n", mtime=0),
            a=("train", "val", "test_2016_flickr"),
        ),
        each("parallel/multi30k/{a}.cs.gz", ["a"], a=("train", "val", "test_2016_flickr")),
    ),
}


def serve(server, files):
    server.files |= {f"/{name}": data for name, data in files.items()}


def test_every_entry_of_the_index_has_a_miniature():
    names = {re.split("[:@]", name)[0] for name in PUBLIC}
    collections = {name.partition("/")[0] for name in names}
    assert {name.partition("/")[0] for name in download_index()} == collections


@pytest.mark.parametrize("name", PUBLIC)
def test_public_files_are_converted_to_the_layout_of_recipes(server, tmp_path, name):
    files, expected = PUBLIC[name]
    serve(server, files)
    found = download([name], tmp_path, server.mirror)
    assert {path.relative_to(tmp_path).as_posix(): list(read_lines(path)) for path in found} == expected
    requests = len(server.log)
    assert sorted(path for path, _ in server.log) == sorted(f"/{path}" for path in files)
    assert sorted(download([name], tmp_path, server.mirror)) == sorted(found)  # verified, not fetched again
    assert len(server.log) == requests
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()} - {path.name for path in found}
    assert left <= {RECORD, f".{RECORD}.lock"}


def test_files_have_the_names_and_formats_that_recipes_and_readers_expect(server, tmp_path):
    for name in (
        "xnli:ar,de",
        "panx:de",
        "tydiqa:ko",
        "muse:en-de",
        "mlqa:de,en",
        "tatoeba:swh",
        "flores-v1",
        "pawsx:en,ko",
    ):
        serve(server, PUBLIC[name][0])
        download([name], tmp_path, server.mirror)
    public = "".join(path.read_text() for path in Path(module.__file__).parent.glob("recipes/**/*.toml"))
    for pattern in (
        "nli/{split}.{language}.tsv",
        "nli/xnli/xnli.test.{language}.tsv.gz",
        "ner/panx/train-{language}.tsv.gz",
        "qa/tydiqa-goldp/tydiqa.goldp.{language}.train.json.gz",
        "dict/muse/{source}-{target}.0-5000.txt",
        "qa/mlqa/dev/dev-context-{context}-question-{question}.json.gz",
        "qa/mlqa/test/test-context-{context}-question-{question}.json",
        "parallel/tatoeba/tatoeba.{target3}-{source3}.{language3}",
        "parallel/flores-v1/test.ne-en.{language}.gz",
        "nli/pawsx/dev-{language}.tsv.gz",
    ):
        assert f'"{pattern}' in public
        glob = re.sub(r"\{\w+\}", "*", pattern.replace("{split}", "dev"))
        assert list(tmp_path.glob(glob)), glob
    (pairs,) = READERS.build("nli").read_chunks([tmp_path / "nli/dev.de.tsv"], ["de"])
    assert pairs.labels == ["entailment", "contradiction"]
    (text,) = READERS.build("iob").read_chunks([tmp_path / "ner/panx/dev-de.tsv.gz"], ["de"])
    assert text.tags["names"] == [["B-PER", "O"], ["B-LOC"]]


SQUAD = next(iter(PUBLIC["squad"][0]))


def test_an_interrupted_fetch_is_resumed(server, tmp_path):
    body = b'{"data": [' + b"1, " * 5000 + b"1]}"
    serve(server, dict.fromkeys(PUBLIC["squad"][0], body))
    server.cut = 1000
    with pytest.raises(DataError, match=r"run the same command to resume"):
        download(["squad"], tmp_path, server.mirror)
    partial = tmp_path / "archives" / f"{SQUAD}.partial"
    assert partial.read_bytes() == body[:1000]
    server.cut = None
    download(["squad"], tmp_path, server.mirror)
    assert [asked for _, asked in server.log] == [None, "bytes=1000-", None]
    assert (tmp_path / "qa/squad/train-v1.1.json").read_bytes() == body + b"\n"


def test_a_file_that_changed_meanwhile_is_fetched_from_the_start(server, tmp_path):
    serve(server, dict.fromkeys(PUBLIC["squad"][0], b'{"old": 1234567890}'))
    server.cut = 5
    with pytest.raises(DataError):
        download(["squad"], tmp_path, server.mirror)
    server.cut = None
    serve(server, dict.fromkeys(PUBLIC["squad"][0], b'{"new": 1}'))
    download(["squad"], tmp_path, server.mirror)
    assert (tmp_path / "qa/squad/train-v1.1.json").read_text() == '{"new": 1}\n'


def test_contents_are_compared_with_the_first_download(server, tmp_path):
    serve(server, dict.fromkeys(PUBLIC["squad"][0], b'{"old": 1}'))
    first, _ = download(["squad"], tmp_path, server.mirror)
    first.write_text("mine")
    with pytest.raises(DataError, match=rf"{first.name}: changed since it was downloaded"):
        download(["squad"], tmp_path, server.mirror)
    first.unlink()
    serve(server, dict.fromkeys(PUBLIC["squad"][0], b'{"new": 1}'))
    with pytest.raises(
        DataError, match=r"SHA-256 \w+, but \w+ at the first download .*delete its entry in .*downloads"
    ):
        download(["squad"], tmp_path, server.mirror)
    assert not first.exists()
    (tmp_path / RECORD).unlink()
    with pytest.raises(DataError, match=r"exists and comes from elsewhere"):
        download(["squad"], tmp_path, server.mirror)


def test_a_file_that_was_deleted_is_made_again(server, tmp_path):
    serve(server, PUBLIC["xnli:ar,de"][0])
    download(["xnli:ar,de"], tmp_path, server.mirror)
    (tmp_path / "nli/dev.de.tsv").unlink()
    assert all(path.is_file() for path in download(["xnli:ar"], tmp_path, server.mirror))
    assert tmp_path / "nli/dev.de.tsv" in download(["xnli:de"], tmp_path, server.mirror)
    assert len(server.log) == 3


def test_two_corpora_of_one_pair_do_not_replace_each_other(server, tmp_path):
    serve(server, PUBLIC["opus/Tanzil:en-ur"][0])
    file = zipped({"QED.en-ur.en": "x\n", "QED.en-ur.ur": "y\n"})
    serve(server, {"object.pouta.csc.fi/OPUS-QED/v2.0a/moses/en-ur.txt.zip": file})
    with pytest.raises(DataError, match=r"en-ur.en.txt: exists and comes from elsewhere; choose another folder"):
        download(["opus/Tanzil:en-ur", "opus/QED:en-ur"], tmp_path, server.mirror)


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (zipped({"xnli.dev.tsv": "/etc/hosts"}, 0o120777), "no text in ar, de"),
        (zipped({"xnli.dev.tsv": "label\tsentence1\n"}), "expected a table with a column 'language', found ValueError"),
        (
            zipped({"xnli.dev.tsv": "label\tlanguage\na\n"}),
            "expected a table with a column 'language', found IndexError",
        ),
        (zipped({"xnli.dev.tsv": ""}), "expected a table with a column 'language'"),
        (zipped({"README": "x"}), "holds none of|no text in"),
        (zipped({"xnli.dev.tsv": NLI.replace("\nde", "\nfr")}), "no text in de, which the index promises"),
        (zipped({"xnli.dev.tsv": NLI})[:-30], "damaged archive"),
    ],
)
def test_damaged_and_other_archives_are_refused(server, tmp_path, archive, message):
    serve(server, {f"{META}/XNLI/XNLI-1.0.zip": archive})
    with pytest.raises(DataError, match=message):
        download(["xnli:ar,de"], tmp_path, server.mirror)
    assert not (tmp_path / "nli").exists()
    assert not list(tmp_path.glob(".download-*"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_tar_files_are_left_out(server, tmp_path, kind):
    serve(server, {f"{META}/nllb/flores200_dataset.tar.gz": tarred({"dev/swh_Latn.dev": ""}, kind)})
    with pytest.raises(DataError, match="holds none of the expected files"):
        download(["flores-200"], tmp_path, server.mirror)


@pytest.mark.parametrize("name", ["../swh_Latn.dev", "../../dev/swh_Latn.dev", "/etc/swh_Latn.dev"])
def test_nothing_is_written_under_the_names_of_members(server, tmp_path, name):
    serve(server, {f"{META}/nllb/flores200_dataset.tar.gz": tarred({name: "x", "dev/swh_Latn.dev": "x"})})
    (made,) = download(["flores-200"], tmp_path / "a/b", server.mirror)
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert (left, made.name) == ({RECORD, f".{RECORD}.lock", "dev.swh_Latn"}, "dev.swh_Latn")


PAGE = b"\n<!DOCTYPE html>\n<html><title>Log in</title></html>\n"


def test_a_web_page_is_not_taken_for_a_file(server, tmp_path):
    for name in ("squad", "tatoeba:swh", "ud/German-PUD", "muse:en-de", "opus/Tanzil:en-ur"):
        serve(server, dict.fromkeys(PUBLIC[name][0], PAGE))
        server.more = {"Content-Type": "text/html; charset=utf-8"}
        with pytest.raises(DataError, match=r"gives a web page, expected a file; if it needs a login, fetch http"):
            download([name], tmp_path / "typed", server.mirror)
        server.more = {}
        with pytest.raises(DataError, match=r"found .<!DOCTYPE.*html>.; delete .* and download|damaged archive"):
            download([name], tmp_path / "untyped", server.mirror)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file() and "archives" not in path.parts]
    assert {*left} == {f".{RECORD}.lock"}


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("squad", b"Too many requests\n", "expected JSON, found 'Too many requests'"),
        ("ud/German-PUD", b"404: Not Found", "expected CoNLL-U, found '404"),
        ("muse:en-de", b"nothing\n", "expected columns separated by tabs, found 'nothing'"),
        ("tydiqa:ko", b'{"data": [', "expected the JSON of TyDi QA, found JSONDecodeError"),
        ("tydiqa:ko", b'{"data": [{"paragraphs": []}]}', "expected the JSON of TyDi QA, found IndexError"),
        ("tydiqa:ko", b"[]", "expected the JSON of TyDi QA, found TypeError"),
        (
            "multi30k:cs",
            gzip.compress(b"a" * 2_000_000, mtime=0),
            r"cs\.gz: its contents have more than [\d,]+ bytes, 100 times",
        ),
    ],
)
def test_files_of_another_kind_are_refused(server, tmp_path, name, body, message):
    serve(server, dict.fromkeys(PUBLIC[name][0], body))
    with pytest.raises(DataError, match=message):
        download([name], tmp_path, server.mirror)
    assert not (tmp_path / RECORD).exists()


@pytest.mark.parametrize(
    "record", [[], {"https://a.org": 1}, {"https://a.org": {"files": {}, "languages": ["de"], "sha256": None}}]
)
def test_a_damaged_record_is_named(tmp_path, record):
    (tmp_path / RECORD).write_text(json.dumps(record))
    with pytest.raises(DataError, match=rf"{RECORD}: damaged: .*; delete it to download everything again"):
        download(["squad"], tmp_path)


def test_a_range_that_is_refused_or_not_named_restarts_the_fetch(server, tmp_path):
    serve(server, dict.fromkeys(PUBLIC["squad"][0], b'{"data": []}'))
    server.cut = 5
    with pytest.raises(DataError):
        download(["squad"], tmp_path, server.mirror)
    server.cut, server.more = None, {"Content-Range": None}
    with pytest.raises(DataError, match=r"HTTP 206, Content-Range missing, expected bytes 5-; run the same command"):
        download(["squad"], tmp_path, server.mirror)
    server.cut, server.more = 5, {}
    with pytest.raises(DataError):
        download(["squad"], tmp_path, server.mirror)
    server.cut, server.refused = None, 1
    assert len(download(["squad"], tmp_path, server.mirror)) == 2
    assert [asked for _, asked in server.log] == [None, "bytes=5-", None, "bytes=5-", None, None]


def test_archives_that_grow_too_much_are_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 1000)
    serve(server, {f"{META}/nllb/flores200_dataset.tar.gz": tarred({"dev/swh_Latn.dev": "a" * 1_000_000})})
    with pytest.raises(DataError, match="100 times its own"):
        download(["flores-200"], tmp_path, server.mirror)
    inner = tarred(dict.fromkeys(SPLITS, "a" * 900))
    monkeypatch.setattr(module, "_MAX_RATIO", 4)
    serve(server, {next(iter(PUBLIC["panx:de"][0])): zipped(dict.fromkeys((f"{a}.tar.gz" for a in "abcdef"), inner))})
    with pytest.raises(DataError, match="4 times its own"):
        download(["panx:de"], tmp_path, server.mirror)


def test_addresses_that_lead_elsewhere_are_refused(server, tmp_path):
    for target in ("file:///etc/hosts", "ftp://127.0.0.1/x"):
        serve(server, {SQUAD: target})
        with pytest.raises(DataError, match=r"not allowed|not followed|unknown"):
            download(["squad"], tmp_path, server.mirror)
    with pytest.raises(SettingsError, match="begins with http"):
        download(["squad"], tmp_path, "file:///tmp")
    with pytest.raises(SettingsError, match=r"^http://\*\*\*@127.*without a user and a password"):
        download(["squad"], tmp_path, server.mirror.replace("://", "://ada:secret@"))
    del server.files[f"/{SQUAD}"]
    with pytest.raises(DataError, match=r"HTTP 404 .*put it at .*archives/rajpurkar"):
        download(["squad"], tmp_path, server.mirror)
    serve(server, {SQUAD: f"{server.mirror}/moved", "moved": b"{}", SQUAD.replace("train", "dev"): b"{}"})
    assert len(download(["squad"], tmp_path, server.mirror)) == 2


def test_without_a_network_says_what_to_put_where_and_takes_it(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        mirror = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(
        DataError, match=r"cannot be reached; fetch https://rajpurkar\S+ by other means, put it at"
    ) as error:
        download(["squad"], tmp_path, mirror)
    for name in PUBLIC["squad"][0]:
        path = tmp_path / "archives" / name
        assert "archives/rajpurkar.github.io/SQuAD-explorer/dataset/train-v1.1.json" in str(error.value)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert [path.read_text() for path in download(["squad"], tmp_path, mirror)] == ["{}\n"] * 2
    assert path.is_file()  # what the user put there stays


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xnl", "there is no download 'xnl'; did you mean 'xnli'"),
        ("opus/Europal:en-de", "did you mean 'opus/Europarl'.*opus/CORPUS@VERSION"),
        ("xnli:dee", "xnli: no language 'dee'; did you mean 'de'"),
        ("muse", "muse: name the language pairs, such as muse:en-de"),
        ("muse:en", "'en' is no language pair"),
        ("muse:en-xx", "no language 'xx'"),
        ("opus/Tanzil:en-../x", "is no language pair"),
        ("opus/../x@v1:en-de", "there is no download 'opus/../x'"),
        ("opus/Tanzil@../v1:en-de", "'../v1' is no version"),
        ("squad:de", "has no languages to choose from"),
        ("xnli@2", "has no versions, found @2"),
    ],
)
def test_wrong_names_suggest_the_nearest(tmp_path, name, message):
    with pytest.raises(SettingsError, match=message):
        download([name], tmp_path)


def test_command_downloads_and_lists(server, tmp_path):
    serve(server, PUBLIC["xquad:el"][0])
    run = CliRunner().invoke
    done = run(application(), ["download", "xquad:el", "-o", str(tmp_path)], env={"INTERLACE_MIRROR": server.mirror})
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path}/qa/xquad/xquad.el.json\n")
    listed = json.loads(run(application(), ["download", "--list", "--json"]).stdout)
    assert [row["name"] for row in listed] == list(download_index())
    assert all(row["status"] == "untested upstream" and row["license"] and row["size"] for row in listed)
    (row,) = json.loads(run(application(), ["list", "downloads", "muse", "--json"]).stdout)
    assert row["languages"] == "pairs such as en-de"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("xnli: there is no file data/nli/xnli/xnli.test.sw.tsv.gz; there are: de", "xnli:sw -o data"),
        ("/a/parallel/en-de.en.txt: no such file; the folder /a does not exist", "opus/CORPUS:en-de -o /a"),
        ("dict/muse/en-de.0-5000.txt: no such file", "muse:en-de -o ."),
        ("/a/pos/UD_German-GSD/de_gsd-ud-test.conllu: no such file", "ud/German-GSD -o /a"),
        ("data/mine/test.de.tsv: no such file", ""),
        (
            "ner: there is no file ner/test.sw.tsv; nli/dev.de.tsv: no; and 2 more, of sw, tr",
            "panx:sw xnli:de,sw,tr -o .",
        ),
    ],
)
def test_errors_on_missing_files_name_the_download(message, expected):
    assert download_hint(message) == (expected and f"; to fetch them: interlace download {expected}")


def test_existing_files_and_pairs_of_languages(tmp_path, monkeypatch):
    (tmp_path / "nli").mkdir()
    (tmp_path / "nli" / "test.de.tsv").write_text("damaged")
    assert download_hint(f"{tmp_path}/nli/test.de.tsv: line 1: damaged") == ""
    chosen = [source.values["language"] for source in module._sources("multi30k:en-de")]
    assert sorted(set(chosen)) == ["de", "en"]
