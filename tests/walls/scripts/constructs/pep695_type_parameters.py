# python 3.12
from typing import Protocol


def first[T](items: list[T], default: T | None = None) -> T | None:
    return items[0] if items else default


class Stack[T]:
    def __init__(self) -> None:
        self._items: list[T] = []

    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self

    def peek(self) -> T:
        return self._items[-1]


class Pair[K: (int, str), V](Protocol):
    key: K
    value: V


type Tree[A] = dict[str, Tree[A] | A]
type Name = str


def bounded[N: float, *Ts, **P](n: N, *rest: *Ts) -> N:
    return n * 2


print(first([3, 4]), first([], 1), Stack[int]().push(5).peek(), bounded(2.5), Tree, Name, Name.__value__, Stack[str])
print(first.__type_params__, f"{'nested "quotes"'}")
