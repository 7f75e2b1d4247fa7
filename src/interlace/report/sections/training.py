"""Training over steps: diagnostics, evaluation of held-out text, losses; and the mixture that was trained on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from interlace.report import svg
from interlace.report.figures.line_panel import Curve, Domain, domain, finite, line_panel, smoothed
from interlace.report.runs import Run, first_of_each, short_names
from interlace.report.sections import Section
from interlace.report.tables import Column, Entry, Line, Table, html_fragment
from interlace.report.text import language_name, language_names, number, percent, render

Scores = Mapping[str, float | None]
Measured = Mapping[Any, Sequence[tuple[int, Scores]]]  # by run folder: (step, scores by name)
Curves = Mapping[str, Sequence[Curve]]  # by panel

_MEAN = "Mean of all"


def training(runs: Sequence[Run]) -> list[Section]:
    """Return the sections on training that runs have records for."""
    return [*_diagnostics(runs), *_evaluation(runs), *_losses(runs), *_mixture(runs)]


def _figure(
    caption: str, curves: Curves, unit: str, span: Domain, shown: Sequence[str], title: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return small multiples with their caption, and the titles of the panels that are not `shown`."""
    panels = [line_panel(title(name), curves[name], span, unit) for name in shown]
    return {"caption": caption, "panels": panels, "hidden": [title(name) for name in curves if name not in shown]}


def _panel_section(title: str, lead: str, runs: Sequence[Run], figures: Sequence[dict[str, Any]]) -> list[Section]:
    if not figures:
        return []
    styles = {run.label: run.style for run in first_of_each(runs)}
    keys = [(svg.key(style, with_line=True), label) for label, style in styles.items()] if len(styles) > 1 else []
    body = render("panels", figures=figures, keys=keys)
    return [Section(title, lead, body, [panel for figure in figures for panel in figure["panels"]])]


def _curves(runs: Sequence[Run], measured: Measured, panels: Mapping[str, str]) -> dict[str, list[Curve]]:
    """Return the curves of each panel, one a run. panels: name of a score -> panel, which shows the mean of several."""
    short = short_names(runs)
    found: dict[str, list[Curve]] = {}
    for panel in dict.fromkeys(panels.values()):
        names = [name for name, where in panels.items() if where == panel]
        for run in runs:
            points: list[tuple[float, float | None]] = []
            for step, scores in measured[run.folder]:
                values = [value for name in names if (value := scores.get(name)) is not None]
                points.append((step, fmean(values) if values else None))
            if kept := finite(points):
                found.setdefault(panel, []).append(Curve(short[run.label], run.style, kept))
    return found


def _is_of_dictionary(name: str) -> bool:
    """Whether a score is of an objective's dictionary, such as `align_mlm/train/p@1`."""
    return name.count("/") == 2 and name.split("/")[1] in {"train", "held-out"}


def _names(measured: Measured) -> list[str]:
    return list(dict.fromkeys(name for lines in measured.values() for _, scores in lines for name in scores))


def _span(curves: Iterable[Sequence[Curve]], log: bool = False) -> Domain:
    return domain([curve for lines in curves for curve in lines], log)


_DIAGNOSTICS = {  # measure: unit and caption
    "alignment": (
        "P@1 in %",
        "Words of the evaluation's dictionaries whose nearest neighbor is a translation, in percent.",
    ),
    "p@1": ("P@1 in %", "The same over an objective's dictionary: entries that it trains on, and held-out entries."),
    "cosine": ("mean cosine", "Mean cosine of the entries of an objective's dictionary, input embeddings."),
    "retrieval": ("P@1 in %", "Sentences whose nearest neighbor in the other language is a translation, in percent."),
    "gap": ("cosine gap", "Mean cosine of translations minus that of other sentence pairs."),
}
_ORIGINS = {"dev": "held-out pairs", "task": "dev pairs of the retrieval task", "train": "pairs of the training text"}


def _diagnostics(runs: Sequence[Run]) -> list[Section]:
    """Return a figure per measure, a panel per language pair."""
    measured = {run.folder: _diagnosed(run) for run in runs}
    names, figures = _names(measured), []
    for measure, (unit, caption) in _DIAGNOSTICS.items():
        curves = _curves(runs, measured, _diagnostic_panels(measure, names))
        if len(curves) == 2 and _MEAN in curves:
            del curves[_MEAN]  # of a single panel
        if curves:
            shown = evenly(list(curves), 12)
            figures.append(_figure(caption, curves, unit, _span(curves[name] for name in shown), shown))
    shares = [
        100 * sum(one.seconds for one in run.diagnoses) / run.facts["seconds"]["steps"]
        for run in runs
        if run.diagnoses and run.facts.get("seconds", {}).get("steps")
    ]
    lead = "Measured during pre-training on fixed words and sentences that are not trained on."
    lead += _pairs_note(runs)
    lead += f" Diagnostics took up to {percent(max(shares), 1)} of the time of training steps." if shares else ""
    return _panel_section("Cross-lingual diagnostics", lead, runs, figures)


def _diagnosed(run: Run) -> list[tuple[int, Scores]]:
    """Return by step the scores of diagnoses, and those of dictionaries in evaluations."""
    found: dict[int, dict[str, float | None]] = {}
    for line in run.evaluations:
        of_words = {name: score for name, score in line.scores.items() if _is_of_dictionary(name)}
        if of_words:
            found.setdefault(line.step, {}).update(of_words)
    for line in run.diagnoses:
        found.setdefault(line.step, {}).update(line.scores)
    return sorted(found.items())


def _diagnostic_panels(measure: str, names: Iterable[str]) -> dict[str, str]:
    """Return score name -> panel title of one measure, the mean last."""
    titles: dict[str, str] = {}
    pairs: dict[frozenset[str], str] = {}
    for name in names:
        first, *rest = name.split("/")
        if _is_of_dictionary(name):
            if rest[1] == measure:
                titles[name] = f"{first}, {'trained on' if rest[0] == 'train' else 'held out'}"
        elif first == measure:
            pair = pairs.setdefault(frozenset(rest[0].split("-")), rest[0])  # both directions are one
            titles[name] = _MEAN if pair == "mean" else language_name(pair)
    return dict(sorted(titles.items(), key=lambda entry: entry[1] == _MEAN))


def evenly(titles: list[str], most: int) -> list[str]:
    """Return all titles, or `most` spread evenly with the first and the last."""
    if len(titles) <= most:
        return titles
    return [titles[round(index * (len(titles) - 1) / (most - 1))] for index in range(most)]


def _pairs_note(runs: Sequence[Run]) -> str:
    """Return what sentence pairs were measured, and whether runs differ in it."""
    records = [run.diagnoses[-1].on for run in runs if run.diagnoses and run.diagnoses[-1].on]
    kinds: dict[tuple[int, str], list[str]] = {}
    for pair, about in {pair: about for record in records for pair, about in record.items()}.items():
        kinds.setdefault((int(about.get("pairs", 0)), str(about.get("from", ""))), []).append(pair)
    parts = [
        f"{number(size, 0)} {_ORIGINS.get(origin, 'pairs')} ({language_names(pairs)})"
        for (size, origin), pairs in kinds.items()
    ]
    differ = " The pairs differ between runs." if any(record != records[0] for record in records) else ""
    return f" The sentences are {', '.join(parts)}.{differ}" if parts else ""


_MEANS = {"mean": _MEAN, "geometric": "Geometric mean"}
_UNITS = {
    "causal_perplexity": "perplexity per subword, left to right",
    "perplexity_per_word": "perplexity per word, left to right",
    "bits_per_character": "bits per character, left to right",
    "bleu": "BLEU of greedy translations of development text",
    "round-trip": "BLEU of round-trip translations of development text",
}


def _evaluation(runs: Sequence[Run]) -> list[Section]:
    """Return a figure per metric, a panel per language or direction."""
    measured = {run.folder: [(line.step, line.scores) for line in run.evaluations] for run in runs}
    names = [name for name in _names(measured) if not _is_of_dictionary(name)]
    kinds = sorted(dict.fromkeys(name.partition("/")[0] for name in names), key=lambda kind: kind != "perplexity")
    per = dict.fromkeys(str(run.facts.get("perplexity_unit") or "per masked subword") for run in runs)
    figures = []
    for kind in kinds:
        curves = _curves(runs, measured, {name: name for name in names if name.partition("/")[0] == kind})
        if not curves:
            continue
        first, *others = [name for name in curves if name.partition("/")[2] in _MEANS] or [""]
        curves = {name: lines for name, lines in curves.items() if name not in others}
        shown = [*[name for name in curves if name != first][:12], *filter(None, [first])]
        unit = f"perplexity {' or '.join(per)}" if kind == "perplexity" else _UNITS.get(kind, kind)
        caption = f"{unit[:1].upper()}{unit[1:]}, over training steps."
        caption += " For all objectives, 15 % of the tokens are masked." * unit.endswith("per masked subword")
        span = _span(curves.values(), log="perplexity" in kind)
        figures.append(_figure(caption, curves, unit, span, shown, _evaluation_title))
    judged = not {"bleu", "round-trip"}.isdisjoint(kinds)
    title = "Perplexity" if not judged else "BLEU" if len(kinds) == 1 else "Perplexity and BLEU"
    lead = "Evaluation during pre-training." + " Higher BLEU is better." * judged
    lead += " Lower perplexity is better; its axis is logarithmic." * ("perplexity" in kinds)
    return _panel_section(f"{title} during training", lead, runs, figures)


def _evaluation_title(name: str) -> str:
    kind, _, which = name.partition("/")
    return _MEANS.get(which) or (language_name(which) if which else kind)


def _losses(runs: Sequence[Run]) -> list[Section]:
    short = short_names(runs)
    series = [_series(run) for run in runs]
    curves: dict[str, list[Curve]] = {}
    size = 1
    for name in dict.fromkeys(name for found in series for name in found):
        for run, found in zip(runs, series, strict=True):
            line = smoothed(finite(found.get(name, [])))
            size = max(size, line.stretch)
            if line.points:
                curves.setdefault(name, []).append(Curve(short[run.label], run.style, line.points))
    note = f" A point is the mean of up to {size} logged steps." if size > 1 else ""
    figures = []
    for unit, caption, wanted in (
        ("loss in nats per prediction", "Loss in nats per predicted token, over training steps.", False),
        ("share", "The share that each panel names, over training steps.", True),
    ):
        panels = [
            line_panel(name, lines, replace(domain(lines), steps=_span(curves.values()).steps), unit)
            for name, lines in curves.items()
            if name.endswith("_share") == wanted
        ]
        figures += [{"caption": caption + note, "panels": panels, "hidden": []}] if panels else []
    lead = "Training losses by objective, all languages together. Scales differ between objectives."
    return _panel_section("Training losses", lead, runs, figures)


def _series(run: Run) -> dict[str, list[tuple[float, float | None]]]:
    """Return (step, loss) by the name of the term, with its objective if the names differ."""
    series: dict[str, list[tuple[float, float | None]]] = {}
    for step in run.steps:
        for term, value in step.losses.items():
            plain = term == step.objective or (term == "loss" and len(step.losses) == 1)
            name = step.objective if plain else f"{step.objective}: {term}"
            series.setdefault(name, []).append((step.step, value))
    return series


def _mixture(runs: Sequence[Run]) -> list[Section]:
    """Return a table of the shares of each objective with its corpora, and one of the shares of languages."""
    shown = [run for run in first_of_each(runs) if run.facts.get("shares")]
    if not shown:
        return []
    found = [(run.facts["shares"], run.facts.get("mixture") or {}) for run in shown]
    names = {part for shares, _ in found for name in shares for part in (name.partition("/")[0], name)}
    lines = []
    for name in sorted(names):  # an objective before its corpora
        objective, _, corpus = name.partition("/")
        entries = [_share(shares, name, mixture) for shares, mixture in found]
        lines.append(Line(language_name(corpus) or objective, tuple(entries), kind="" if corpus else "mean"))
    columns = tuple(Column(run.label) for run in shown)
    body = html_fragment(Table("mixture", "Objectives and their corpora", columns, tuple(lines)))
    counts = [mixture.get("languages", {}) for _, mixture in found]
    if languages := dict.fromkeys(name for each in counts for name in each):
        parts = [{name: count / max(sum(each.values()), 1) for name, count in each.items()} for each in counts]
        rows = tuple(Line(language_name(name), tuple(_share(each, name) for each in parts)) for name in languages)
        body += html_fragment(Table("languages", "By language", columns, rows))
    return [Section("Mixture", "Shares of the training tokens by objective, corpus and language.", body)]


def _share(shares: Mapping[str, float], name: str, mixture: Mapping[str, Any] = {}) -> Entry | None:
    """Return the share of a corpus with what was read of it, or of a whole objective."""
    total = shares.get(name, sum(share for each, share in shares.items() if each.startswith(f"{name}/")))
    kinds = {"subwords": "tokens", "rows": "rows", "steps": "steps"}
    amounts = [f"{count:,} {what}" for what, key in kinds.items() if (count := mixture.get(key, {}).get(name))]
    return Entry(percent(100 * total, 1), small=", ".join(amounts)) if total else None
