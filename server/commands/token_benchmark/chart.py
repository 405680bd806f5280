"""A bar chart of the medians by class and arm, with a logarithmic scale, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from winnow.server.commands.token_benchmark.report import ARM_NAMES, CLASS_NAMES

_WIDTH, _LEFT, _RIGHT, _TOP = 760, 180, 60, 56
_BAR, _GAP, _GROUP_GAP = 14, 3, 18
_LEAST = 100  # tokens at the left edge: no answer costs less
_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "full": "#8a8f98",
        "documents": "#c9ccd1",
        "metadata_full": "#b08d57",
        "evidence": "#5b8fb9",
        "code": "#2f7d4f",
    }
)


def svg(figures: Mapping[str, Any]) -> str:
    """An SVG document with the median tokens of an answer: a bar for each arm of each class."""
    summary = figures["summary"]
    medians = [row["tokens_median"] for arms in summary.values() for row in arms.values() if row["answered"]]
    most = max([*medians, _LEAST * 10])
    group = len(ARM_NAMES) * (_BAR + _GAP) + _GROUP_GAP
    height = _TOP + len(summary) * group + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="20" font-size="14">Median tokens of an answer ({len(figures["tasks"])} tasks, '
        f"{figures['tokenizer']}; each step is ten times the one before)</text>",
        *_legend(),
        *_scale(most, height),
    ]
    for number, (kind, arms) in enumerate(summary.items()):
        parts += _group(CLASS_NAMES[kind], arms, _TOP + number * group, most)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(tokens: float, most: float) -> float:
    reach = math.log10(max(tokens, _LEAST) / _LEAST) / math.log10(most / _LEAST)
    return _LEFT + reach * (_WIDTH - _LEFT - _RIGHT)


def _legend() -> Iterator[str]:
    for number, (arm, name) in enumerate(ARM_NAMES.items()):
        x = 12 + number * 148
        yield f'<rect x="{x}" y="32" width="10" height="10" fill="{_COLOURS[arm]}"/>'
        yield f'<text x="{x + 14}" y="41">{name}</text>'


def _scale(most: float, height: int) -> Iterator[str]:
    tokens = _LEAST
    while tokens <= most:
        x = _x(tokens, most)
        yield f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{height - 20}" stroke="#e4e6e9"/>'
        yield f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" fill="#666">{tokens:,}</text>'
        tokens *= 10


def _group(name: str, arms: Mapping[str, Mapping[str, float]], top: float, most: float) -> Iterator[str]:
    middle = top + len(arms) * (_BAR + _GAP) / 2
    yield f'<text x="{_LEFT - 12}" y="{middle:.1f}" text-anchor="end" font-size="12">{name}</text>'
    for number, (arm, row) in enumerate(arms.items()):
        y = top + number * (_BAR + _GAP)
        median = row["tokens_median"]
        width = _x(median, most) - _LEFT if row["answered"] else 0.0
        label = f"{median:,.0f}" if row["answered"] else "none answered"
        yield f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{_COLOURS[arm]}"/>'
        yield f'<text x="{_LEFT + width + 5:.1f}" y="{y + 11}">{label}</text>'
