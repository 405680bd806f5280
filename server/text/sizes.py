"""Formats sizes, counts and lists of numbers for use in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

_MIB = 1024 * 1024
_RUNS_SHOWN = 10
_Name = TypeVar("_Name", bound=str)


def describe_bytes(size: int) -> str:
    """A number of bytes, in MiB from 0.01 MiB on.

    >>> describe_bytes(16 * 1024 * 1024), describe_bytes(1_200_000), describe_bytes(900)
    ('16 MiB', '1.14 MiB', '900 bytes')
    """
    if size < _MIB // 100:
        return f"{size:,} bytes"
    return f"{size / _MIB:,.2f}".rstrip("0").rstrip(".") + " MiB"


def count_of(number: int, one: str, several: str = "") -> str:
    """A number and the noun that goes with it; ``several`` is the plural if it is not formed with an s.

    >>> count_of(1, "page"), count_of(1_200, "page"), count_of(2, "run of text", "runs of text")
    ('1 page', '1,200 pages', '2 runs of text')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def name_counts(counts: Mapping[_Name, int]) -> str:
    """The counted items, the most frequent first.

    >>> name_counts({"invisible": 1, "too small": 1_200})
    'too small 1,200, invisible 1'
    """
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda each: -each[1]))


def name_numbers(numbers: Sequence[int]) -> str:
    """Numbers in short, the first ten runs of them.

    >>> name_numbers([3, 1, 2, 7])
    '1-3, 7'
    """
    runs = name_runs(numbers)
    return ", ".join([*runs[:_RUNS_SHOWN], "..."] if len(runs) > _RUNS_SHOWN else runs)


def name_runs(numbers: Iterable[int]) -> list[str]:
    """The runs of consecutive numbers in order, each as its first and last number.

    >>> name_runs([3, 1, 2, 7])
    ['1-3', '7']
    """
    grouped = groupby(enumerate(sorted(set(numbers))), lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in run] for _, run in grouped]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
