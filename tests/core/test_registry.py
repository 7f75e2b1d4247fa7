import sys
from importlib.metadata import EntryPoint

import pytest

from interlace.core import registry
from interlace.core.errors import DataError, SettingsError
from interlace.core.registry import Registry, register_plugin

CONTRACT = """
from interlace.core.settings import Settings

class Greeting(Settings):
    def text(self): ...
"""
HELLO = '''"""Says hello.

More.
"""
from greetings import Greeting

class Hello(Greeting):
    to: str = "world"

class _Private(Greeting): ...
'''


@pytest.fixture
def entries(tmp_path, monkeypatch):
    """A registry of two entries and a private module, in a package of its own."""
    folder = tmp_path / "greetings"
    folder.mkdir()
    (folder / "__init__.py").write_text(CONTRACT)
    (folder / "hello.py").write_text(HELLO)
    (folder / "bye.py").write_text("raise RuntimeError('imported')")
    (folder / "two.py").write_text(
        "from greetings import Greeting\nclass A(Greeting): ...\nclass B(Greeting): ...\n"
    )
    (folder / "_helper.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_PLUGINS", {})
    import greetings

    registry._module_names.cache_clear()
    yield Registry("greetings", "greeting", greetings.Greeting)
    for name in [
        name for name in sys.modules if name.partition(".")[0] in {"greetings", "friend"}
    ]:
        del sys.modules[name]


@pytest.fixture
def plugin(tmp_path):
    """Writes a file of the user's own."""

    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    yield write
    for name in [name for name in sys.modules if name.startswith("interlace_plugin_")]:
        del sys.modules[name]


def test_entries_are_listed_and_summarized_without_importing_them(entries):
    assert entries.names() == ["bye", "hello", "two"]
    assert [entries.summary(name) for name in ("hello", "bye")] == ["Says hello.", ""]
    assert not {"greetings.hello", "greetings.bye"} & set(sys.modules)


def test_an_entry_is_the_one_public_class(entries):
    assert entries.get("hello").__name__ == "Hello"
    assert entries.build("hello").to == "world"
    assert entries.build({"name": "hello", "to": "you"}).to == "you"
    with pytest.raises(SettingsError, match="should define one public Greeting, found 2"):
        entries.get("two")


def test_a_registry_without_contract_holds_functions_named_like_their_files(entries, tmp_path):
    (tmp_path / "greetings" / "wave.py").write_text("def wave(): return 'o/'\n")
    assert Registry("greetings", "greeting").get("wave")() == "o/"


def test_the_nearest_name_is_given(entries):
    with pytest.raises(
        SettingsError, match=r"^there is no greeting 'helo'; did you mean 'hello'\?$"
    ):
        entries.get("helo")
    with pytest.raises(
        SettingsError, match="there is no greeting '_helper'; there are: bye, hello, two"
    ):
        entries.get("_helper")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"to": "you"}, "a.toml: the key 'name' is required; there are: bye, hello, two"),
        ({"name": "hello", "too": "you"}, "a.toml: unknown key 'too'; did you mean 'to'?"),
    ],
)
def test_what_cannot_be_built_is_named(entries, data, message):
    with pytest.raises(SettingsError) as caught:
        entries.build(data, "a.toml")
    assert str(caught.value) == message


def test_a_plugin_joins_by_its_file(entries, plugin):
    path = plugin(
        '"""Says mine."""\n'
        "from __future__ import annotations\n"
        "from typing import Annotated\n"
        "from pydantic import Field\n"
        "from greetings import Greeting\n"
        "Size = Annotated[int, Field(gt=0)]\n"
        "class Mine(Greeting):\n"
        "    size: Size = 1\n"
    )
    register_plugin(path, {"greetings": entries})
    assert entries.names() == ["bye", "hello", "mine", "two"]
    assert entries.build({"name": "mine", "size": 2}).size == 2
    assert entries.summary("mine") == "Says mine."
    with pytest.raises(SettingsError, match="size: input should be greater than 0"):
        entries.build({"name": "mine", "size": 0})


def test_plugins_are_found_by_entry_point(entries, tmp_path, monkeypatch):
    (tmp_path / "friend.py").write_text(
        '"""A friend."""\nfrom greetings import Greeting\nclass Friend(Greeting): ...\n'
    )
    points = [EntryPoint(name, "friend", "interlace.greetings") for name in ("friend", "hello")]
    monkeypatch.setattr(registry, "_installed_plugins", registry._installed_plugins.__wrapped__)
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    assert entries.names() == ["bye", "friend", "hello", "two"]
    assert entries.summary("friend") == "A friend."
    assert "friend" not in sys.modules
    assert entries.get("friend").__name__ == "Friend"
    assert entries.get("hello").__module__ == "greetings.hello"  # built in, not replaced


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "--code {path}: defines no subclass of Greeting"),
        (
            "x = 1\n\ndef f():\n    return 1 / 0\n\nf()\n",
            "--code {path}:4: ZeroDivisionError: division by zero",
        ),
        ("x = 1\nx = = 2\n", "--code {path}:2: SyntaxError: invalid syntax (mine.py, line 2)"),
        ("import sys\nsys.exit(3)\n", "--code {path}:2: SystemExit: 3"),
        (
            "import not_there\n",
            "--code {path}:1: ModuleNotFoundError: No module named 'not_there'",
        ),
    ],
)
def test_a_plugin_that_fails_to_load_is_named(entries, plugin, text, message, monkeypatch):
    monkeypatch.chdir(plugin(text).parent)
    for path in (plugin(text), plugin(text).relative_to(plugin(text).parent)):
        with pytest.raises(DataError) as caught:
            register_plugin(path, {"greetings": entries})
        assert str(caught.value) == message.format(path=path)
    assert entries.names() == ["bye", "hello", "two"]


def test_a_plugin_with_the_name_of_a_built_in_entry_is_refused(tmp_path):
    from interlace.objectives import OBJECTIVES

    (tmp_path / "mlm.py").write_text(
        "from interlace.objectives.tlm import Tlm\nclass Mine(Tlm):\n    pass\n"
    )
    with pytest.raises(DataError, match="objective 'mlm' is built in"):
        register_plugin(tmp_path / "mlm.py", {"objectives": OBJECTIVES})
