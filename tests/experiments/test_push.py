"""Publishing a run on the Hugging Face hub: a stand-in on the loopback interface that speaks the hub's protocol."""

import base64
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from huggingface_hub import constants
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core import hub
from interlace.core.errors import DataError
from interlace.experiments.export import export_model, push_to_hub
from run_records import run_of


class Stand(BaseHTTPRequestHandler):
    """Creates repositories and takes commits; `server.files` holds what was committed."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.status:
            echo = "".join(f"{name}: {value}; " for name, value in self.headers.items())
            return self.answer({"error": f"you sent {echo}"}, self.server.status)
        if self.path == "/api/repos/create":
            self.server.created.append(json.loads(body))
            return self.answer({"url": f"{constants.ENDPOINT}/me/tags", "name": "me/tags"})
        if self.path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            more = {"uploadMode": "regular", "shouldIgnore": False}
            return self.answer({"files": [{"path": file["path"], **more} for file in files]})
        assert self.path == "/api/models/me/tags/commit/main"
        for line in map(json.loads, body.decode().splitlines()):
            if line["key"] == "file":
                self.server.files[line["value"]["path"]] = base64.b64decode(
                    line["value"]["content"]
                )
        commit = {"commitUrl": f"{constants.ENDPOINT}/me/tags/commit/1", "commitOid": "1"}
        return self.answer({**commit, "hookOutput": ""})

    def answer(self, content, status=200):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def stand(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stand)
    server.files, server.created, server.status = {}, [], None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "right")
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", address)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(tmp_path):
    made = run_of(tmp_path / "run")
    about = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps({**about, "finished": "2026-01-01"}))
    (made / "model" / "encoder").mkdir()
    (made / "model" / "encoder" / "config.json").write_text("{}")
    return made


def test_publishes_the_model_with_its_card(run, stand):
    score = {"task": "pos", "metric": "f1", "unit": "%", "language": "de", "score": 80.0}
    (run / "scores.json").write_text(json.dumps([score]))
    done = CliRunner().invoke(
        application(),
        ["export", str(run), "--push-to-hub", "me/tags", "--private", "--license", "mit"],
    )
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == f"{constants.ENDPOINT}/me/tags"
    assert set(stand.files) == {"README.md", "config.json", "encoder/config.json"}
    assert stand.files["config.json"] == (run / "model" / "config.json").read_bytes()
    assert stand.created[0]["visibility"] == "private"
    card = stand.files["README.md"].decode()
    front = yaml.safe_load(card.split("---")[1])
    assert front["license"] == "mit"
    assert 'from_pretrained("me/tags")' in card
    assert "| pos | f1 (%) | de | 1 | 80 |" in card


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_only_a_refusal_is_missing_write_access_and_no_answer_shows_the_token(
    run, stand, monkeypatch, status
):
    monkeypatch.setenv("HF_TOKEN", "secret-token")
    stand.status = status
    with pytest.raises(DataError, match=f"me/tags: the hub answers: .*{status}") as caught:
        push_to_hub(run, "me/tags")
    assert ("write access" in str(caught.value)) == (status in {401, 403})
    assert "secret-token" not in str(caught.value)


def test_without_a_network_nothing_is_tried(run, monkeypatch):
    monkeypatch.setattr(
        hub.socket, "create_connection", lambda *_: (_ for _ in ()).throw(OSError("no network"))
    )
    monkeypatch.setattr(hub, "getproxies", dict)
    with pytest.raises(
        DataError,
        match=r"cannot be reached; .*model is what would be pushed: .*`hf upload me/tags .*`",
    ):
        push_to_hub(run, "me/tags")


SPECIAL = {
    "a link to a file outside": lambda path: path.symlink_to("/etc/passwd"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("missing"),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("name", ["notes.txt", "config.json"])
@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_of_the_folder_are_exported_and_published(
    stand, run, tmp_path, kind, name
):
    path = run / "model" / name
    path.unlink(missing_ok=True)
    SPECIAL[kind](path)
    with pytest.raises(DataError, match=f"model/{name}: "):
        push_to_hub(run, "me/tags")
    with pytest.raises(DataError, match=f"model/{name}: "):
        export_model(run, tmp_path / "out")
    assert (stand.created, stand.files, (tmp_path / "out").exists()) == ([], {}, False)
