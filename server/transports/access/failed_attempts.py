"""Failed attempts by name: after some, each further one makes its owner wait twice as long.

The name of whose attempts these are is an address for wrong keys, and a client or an address for calls beyond a
limit; all parameters call it ``address``. An address with wrong keys that is waiting is refused without a look at
its key. Clients there whose keys were verified before are not affected: who shares an address with an attacker,
behind one router or proxy, goes on working.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

# A person who copies a key wrongly needs two or three attempts.
FREE_ATTEMPTS = 5
BLOCK_SECONDS = 900.0
_FIRST_WAIT_SECONDS = 1.0
_DOUBLINGS = 10  # 2 ** 10 seconds are more than a block
_FORGET_SECONDS = 3_600.0
# One entry takes about 300 bytes. An IPv6 network of a customer counts as one address.
MAX_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    latest: float
    until: float


class FailedAttempts:
    """The failed attempts of each name, and in ``total`` how many there were, with those that had to wait.

    ``now``: a clock in seconds. ``max_addresses``: the latest are kept.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, max_addresses: int = MAX_ADDRESSES) -> None:
        self._now = now
        self._max_addresses = max_addresses
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self.total = 0

    def wait(self, address: str) -> float:
        """The seconds until this address may try again; 0 if it may now."""
        failures = self._failures.get(address)
        return max(0.0, failures.until - self._now()) if failures else 0.0

    def refuse(self, address: str) -> float:
        """Like ``wait``, for an attempt: where it has to wait, it is refused and counted in ``total`` alone."""
        wait = self.wait(address)
        self.total += wait > 0
        return wait

    def add(self, address: str, free: int = FREE_ATTEMPTS) -> float:
        """Count a failed attempt of this address; returns the seconds that it has to wait now.

        ``free``: how many attempts within an hour cost no time.
        """
        self.total += 1
        now, before = self._now(), self._failures.pop(address, None)
        count = before.count + 1 if before and now - before.latest < _FORGET_SECONDS else 1
        beyond = count - free
        wait = min(_FIRST_WAIT_SECONDS * 2 ** min(beyond - 1, _DOUBLINGS), BLOCK_SECONDS) if beyond > 0 else 0.0
        self._failures[address] = _Failures(count, now, now + wait)
        if len(self._failures) > self._max_addresses:
            self._failures.popitem(last=False)
        return wait

    def count_waiting(self) -> int:
        """The number of addresses that wait now."""
        now = self._now()
        return sum(failures.until > now for failures in self._failures.values())

    def __len__(self) -> int:
        return len(self._failures)
