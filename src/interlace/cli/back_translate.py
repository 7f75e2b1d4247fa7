"""Back-translate monolingual text."""

from pathlib import Path
from typing import Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, notes, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Batch, Force, Precision, ShardOfText, Tokens, parse_changes
from interlace.core.errors import SettingsError


def back_translate(
    run: Annotated[str, typer.Argument(help="A finished run, or a model folder.")],
    text: Annotated[Path, typer.Argument(help="Monolingual text, one sentence per line; may end in .gz.")],
    into: Annotated[Path, options.output("Folder for both sides: train.LANGUAGE.", kind="folder")],
    source: Annotated[str, typer.Option("--from", metavar="LANGUAGE", help="Language of the text.")] = "",
    target: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Target language.")] = "",
    tag: Annotated[str, typer.Option("--tag", help="A word before each translated sentence, such as <BT>.")] = "",
    sets: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Setting: search.beam=1, filters.ratio.max_ratio=2 .."),
    ] = [],
    batch: Batch = None,
    tokens: Tokens = None,
    precision: Precision = "auto",
    shard: ShardOfText = "1/1",
    force: Force = False,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Translate monolingual text and write both sides as a training corpus for the other direction."""
    load_plugins(code)
    from interlace.cli.common.progress import watching
    from interlace.experiments.translation import BackTranslationSettings, LineTranslator, Shard, check_direction
    from interlace.experiments.translation import back_translate as make

    settings = _settings({"tag": tag} if tag else {}, sets, BackTranslationSettings)
    check_direction(run, source, target)
    lines = Shard.read(shard).lines_of(text)
    interpreter = LineTranslator(
        run, source, target, settings.search, force=force, rows=batch, tokens=tokens, precision=precision
    )
    with watching() as watch:
        made = make(interpreter, lines, into, settings, watch)
    if as_json:
        print_json(made)
        return
    dropped = ", ".join(f"{count:,} by {rule}" for rule, count in made["dropped"].items() if count)
    notes.print(f"{made['pairs']:,} pairs; dropped: {dropped or 'none'}")
    print_line(into)


def _settings(given: dict[str, Any], sets: list[str], kind: Any) -> Any:
    """Return the settings with changes by key path."""
    from interlace.core.store import change

    data = {**kind().dump(), **given}
    for key, value in parse_changes(sets, "KEY=VALUE, such as search.beam=1").items():
        if key in given:
            raise SettingsError(f"--set {key}: --{key} sets the same; give one of them")
        change(data, key, value)
    return kind.read(data, "--set")
