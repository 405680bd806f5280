import heapq
import itertools
from dataclasses import dataclass, field
from typing import Any


@dataclass(order=True)
class Entry:
    priority: int
    order: int
    task: Any = field(compare=False)


class Queue:
    def __init__(self):
        self._heap, self._count = [], itertools.count()

    def push(self, task, priority=0):
        heapq.heappush(self._heap, Entry(-priority, next(self._count), task))

    def pop(self):
        return heapq.heappop(self._heap).task

    def __bool__(self):
        return bool(self._heap)


q = Queue()
for name, p in (("low", 1), ("high", 9), ("mid", 5), ("high2", 9)):
    q.push(name, p)
out = []
while q:
    out.append(q.pop())
print(out)
