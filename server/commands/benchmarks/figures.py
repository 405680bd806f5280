"""Percentiles and timing."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median, quantiles


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Median, 95th and 99th percentile, in the unit of the values."""
    cuts = quantiles(values, n=100, method="inclusive")
    return {
        "p50": round(median(values), 3),
        "p95": round(quantiles(values, n=20)[-1], 3),
        "p99": round(cuts[-1], 3),
    }


async def time_ms(action: Callable[[], Awaitable[object]]) -> float:
    """The duration of an action in milliseconds."""
    started = time.perf_counter()
    await action()
    return (time.perf_counter() - started) * 1000
