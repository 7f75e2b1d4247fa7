from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, field_validator

from interlace.core.errors import SettingsError
from interlace.core.settings import MAX_INTEGER, Settings


class Warmup(Settings):
    steps: int = Field(100, ge=0, description="Steps with a rising learning rate.")
    start: float = Field(0.0, ge=0, le=1, description="Share of the peak at the first step.")


class Decay(Settings):
    power: float = -0.5


class Training(Settings):
    seed: int = Field(description="First field of every key.")
    name: str = "run"
    warmup: Warmup = Field(default_factory=Warmup)
    stages: list[Warmup] = []
    by_language: dict[str, Warmup] = {}
    schedule: Warmup | Decay = Warmup()
    last: Warmup | None = None

    @field_validator("name")
    @classmethod
    def _one_word(cls, name):
        if " " in name:
            message = "A name is one word"
            raise ValueError(message)
        return name


def complaint(data, where=""):
    with pytest.raises(SettingsError) as caught:
        Training.read({"seed": 1, **data}, where)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"sed": 1}, "unknown key 'sed'; did you mean 'seed'?"),
        ({"warmup": {"step": 1}}, "unknown key 'warmup.step'; did you mean 'warmup.steps'?"),
        ({"warmup": {"zzz": 1}}, "unknown key 'warmup.zzz'; there are: start, steps"),
        (
            {"stages": [{}, {"step": 1}]},
            "unknown key 'stages.1.step'; did you mean 'stages.1.steps'?",
        ),
        (
            {"by_language": {"x": {"step": 1}}},
            "unknown key 'by_language.x.step'; did you mean 'by_language.x.steps'?",
        ),
        ({"last": {"step": 1}}, "unknown key 'last.step'; did you mean 'last.steps'?"),
        (
            {"seed": "x"},
            "seed: input should be a valid integer, unable to parse string as an integer (found 'x')",
        ),
        (
            {"warmup": {"steps": -1}},
            "warmup.steps: input should be greater than or equal to 0 (found -1)",
        ),
        (
            {"stages": [{"start": 2}]},
            "stages.0.start: input should be less than or equal to 1 (found 2)",
        ),
        ({"name": "my run"}, "name: a name is one word (found 'my run')"),
    ],
)
def test_a_mistake_is_told_with_its_key_and_the_nearest_right_answer(data, message):
    assert complaint(data) == message
    assert complaint(data, "a.toml, [train]") == f"a.toml, [train]: {message}"


def test_the_members_of_a_union_advise_each_for_themselves():
    assert complaint({"schedule": {"powr": 1}}).splitlines() == [
        "unknown key 'schedule.Warmup.powr'; there are: start, steps",
        "unknown key 'schedule.Decay.powr'; did you mean 'schedule.Decay.power'?",
    ]


class Sweep(Settings):
    rate: float | Annotated[list[float], Field(min_length=1)] = 1.0
    files: str | list[str] | dict[str, str | list[str]] = "a"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"rate": "x"},
            "rate: input should be a valid number, unable to parse string as a number, or a valid list",
        ),
        (
            {"files": 3},
            "files: input should be a valid string, or a valid list, or a valid dictionary (found 3)",
        ),
        (
            {"files": {"dev": "b", "train": {"en": "c"}}},
            "files.train: input should be a valid string, or a valid list",
        ),
    ],
)
def test_the_plain_types_of_a_union_are_told_together(data, message):
    """By the key that a person wrote: no names of pydantic's, and nothing of what a deeper part is right for."""
    with pytest.raises(SettingsError) as caught:
        Sweep.read(data)
    assert str(caught.value).removesuffix(" (found 'x')") == message


def test_several_mistakes_are_told_at_once():
    assert complaint({"sed": 1, "name": "a b"}).count("\n") == 1
    with pytest.raises(SettingsError, match="key 'seed' is required"):
        Training()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"steps": MAX_INTEGER + 1}, f"steps: .*at most {MAX_INTEGER}"),
        ({"steps": -(10**20)}, "steps: .*greater"),
        ({"start": float("inf")}, "start: input should be a finite number"),
        ({"start": float("nan")}, "start: input should be a finite number"),
    ],
)
def test_numbers_are_finite_and_fit_arrays(data, message):
    with pytest.raises(SettingsError, match=message):
        Warmup(**data)
