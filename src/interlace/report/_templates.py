"""The templates beside this file, with every value escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from interlace.report import _format, _svg


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("interlace", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (_format.number, _format.signed, _format.spread, _format.count, _format.duration):
        environment.filters[function.__name__] = function
    environment.filters["language"] = _format.language_name
    environment.globals["key"] = _svg.key
    return environment


def render(template: str, **values: Any) -> Markup:
    """`_<template>.html.jinja` filled in; strings in `values` are text, only `Markup` is taken as HTML."""
    return Markup(_environment().get_template(f"_{template}.html.jinja").render(**values))  # noqa: S704 - autoescaped


def style() -> Markup:
    """The page's style sheet; it holds no text from outside."""
    source = _environment().loader.get_source(_environment(), "_page.css")[0]  # type: ignore[union-attr]
    return Markup(source)  # noqa: S704 - our own file
