"""Our own versions of functions of ``functools`` and ``itertools``.

* ``wraps`` gives no choice of attribute names.
* ``singledispatch`` evaluates no annotations as source text.
* ``lru_cache(typed=True)`` has keys with the arguments of the script alone. A key of CPython also has the class of
  each argument, and keys with equal hashes are compared item by item. An object of the script, which chooses its
  own hash, would be compared with the class of an argument of another call; if that argument is a class, its class
  is the real ``type``. Here classes are compared by identity, separately from the arguments.
* ``zip_longest``, ``islice``, ``batched`` and ``groupby`` are generators. The versions of CPython call code of the
  script while they hold no reference to the object that they iterate over. If that code (of an iterator, or of a
  key that is compared) advances the iterator which called it, they use freed memory (CPython issues 142732,
  143543, 146613, 154672; some are open). A generator cannot be advanced while it is running.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from winnow.sandbox.child.guards import script_builtins, trust


def _wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> Callable[[Any], Any]:
    """functools.wraps, without a choice of attribute names."""

    def decorate(wrapper: Any) -> Any:
        if not trust.is_script_function(wrapper):
            return wrapper
        for name in ("__name__", "__qualname__", "__doc__"):
            value = getattr(wrapped, name, None)
            if type(value) is str:
                setattr(wrapper, name, value)
        if trust.is_script_function(wrapped):
            wrapper.__dict__.update(wrapped.__dict__)
        wrapper.__wrapped__ = wrapped
        return wrapper

    return decorate


class SingleDispatch:
    """A function with one implementation for each class of its first argument."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._implementations: dict[type, Callable[..., Any]] = {object: function}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not arguments:
            raise TypeError(f"{self.__name__} requires at least 1 positional argument")
        return self.dispatch(type(arguments[0]))(*arguments, **keywords)

    @property
    def registry(self) -> Mapping[type, Callable[..., Any]]:
        """A view of a copy of every implementation by its class."""
        return types.MappingProxyType(dict(self._implementations))

    def dispatch(self, cls: type) -> Callable[..., Any]:
        """The implementation for a class: its own, that of a matching abstract class, or that of a base."""
        order = cls.__mro__
        for index, base in enumerate(order):
            if base in self._implementations:
                return self._implementations[base]
            for other, implementation in self._implementations.items():
                new = other not in order and issubclass(base, other)
                if new and not any(issubclass(later, other) for later in order[index + 1 :]):
                    return implementation
        return self._implementations[object]

    def register(self, cls: Any, function: Callable[..., Any] | None = None) -> Any:
        """``@f.register``, ``@f.register(cls)`` or ``f.register(cls, function)``."""
        classes = _classes(cls)
        if classes and function is None:
            return lambda decorated: self.register(cls, decorated)
        if function is None:
            cls, function = _annotation(cls), cls
            classes = _classes(cls)
        if not classes:
            raise TypeError(f"Invalid first argument to `register()`. {cls!r} is not a class or union type.")
        for each in classes:
            self._implementations[each] = function
        return function


def _classes(cls: Any) -> tuple[type, ...]:
    if isinstance(cls, type):
        return (cls,)
    if isinstance(cls, types.UnionType) and all(isinstance(each, type) for each in cls.__args__):
        return cls.__args__
    return ()


def _annotation(function: Any) -> Any:
    """The annotation of the first parameter; the policy keeps it for decorators called ``register``."""
    value = next(iter(function.__annotations__.values()), None) if trust.is_script_function(function) else None
    # A string under `from __future__ import annotations`: a plain name is looked up, and nothing is evaluated.
    if type(value) is str and value.isidentifier():
        value = trust.script_globals.get(value) or script_builtins.get_builtins().get(value)
    if not _classes(value):
        raise TypeError(
            f"Invalid first argument to `register()`: {function!r}. Use either `@register(some_class)` or plain "
            "`@register` on an annotated function."
        )
    return value


_CacheInfo: Any = vars(functools)["_CacheInfo"]


class _Key:
    """The arguments of a call and their classes."""

    __slots__ = ("_arguments", "_classes", "_hash")

    def __init__(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        self._arguments = (arguments, tuple(keywords.items()))
        self._classes = tuple(map(type, (*arguments, *keywords.values())))
        self._hash = hash((self._arguments, *map(id, self._classes)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Key or len(self._classes) != len(other._classes):
            return False
        return all(map(operator.is_, self._classes, other._classes)) and self._arguments == other._arguments


class TypedCache:
    """A function that caches its answers by arguments and their classes: the ``most`` latest, or all (None)."""

    def __init__(self, function: Callable[..., Any], most: int | None) -> None:
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._most = most
        self._answers: dict[_Key, Any] = {}  # the least recently used first
        self._hits = self._misses = 0

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        key = _Key(arguments, keywords)
        try:
            answer = self._answers.pop(key)
        except KeyError:
            self._misses += 1
        else:
            self._hits += 1
            self._answers[key] = answer
            return answer
        answer = self.__wrapped__(*arguments, **keywords)
        self._answers[key] = answer
        while self._most is not None and len(self._answers) > self._most:
            self._answers.pop(next(iter(self._answers)), None)
        return answer

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def cache_info(self) -> Any:
        """Hits, misses, the maximum number of answers, and their present number."""
        return _CacheInfo(self._hits, self._misses, self._most, len(self._answers))

    def cache_clear(self) -> None:
        """Forget all answers."""
        self._answers.clear()
        self._hits = self._misses = 0

    def cache_parameters(self) -> dict[str, Any]:
        """``maxsize`` and ``typed``, as a new dict."""
        return {"maxsize": self._most, "typed": True}


def lru_cache(maxsize: Any = 128, typed: Any = False) -> Any:
    """``@lru_cache``, ``@lru_cache(maxsize)`` or ``@lru_cache(maxsize, typed=True)``."""
    if not typed:
        return functools.lru_cache(maxsize)
    if callable(maxsize) and isinstance(typed, bool):
        return TypedCache(maxsize, 128)
    if maxsize is not None and type(maxsize) is not int:
        raise TypeError("Expected first argument to be an integer, a callable, or None")
    most = None if maxsize is None else max(0, maxsize)

    def decorate(function: Callable[..., Any]) -> TypedCache:
        return TypedCache(function, most)

    return decorate


OWN = {"wraps": _wraps, "singledispatch": SingleDispatch, "lru_cache": lru_cache}


# --- iterators -------------------------------------------------------------------------------------------------

_ENDED = object()


def zip_longest(*iterables: Iterable[Any], fillvalue: Any = None) -> Iterator[tuple[Any, ...]]:
    """Tuples of one item of each iterable; ``fillvalue`` replaces the items of iterables that have ended."""
    return _zipped([iter(each) for each in iterables], fillvalue)


def _zipped(iterators: list[Iterator[Any]], fill: Any) -> Iterator[tuple[Any, ...]]:
    left = len(iterators)
    while left:
        row = []
        for number, each in enumerate(iterators):
            item = next(each, _ENDED)
            if item is _ENDED:
                left -= 1
                if not left:
                    return
                iterators[number], item = itertools.repeat(fill), fill
            row.append(item)
        yield tuple(row)


_INDEX = "{} must be None or an integer: 0 <= x <= sys.maxsize."
_STEP = "Step for islice() must be a positive integer or None."


def islice(iterable: Iterable[Any], *bounds: Any) -> Iterator[Any]:
    """``islice(iterable, stop)`` or ``islice(iterable, start, stop[, step])``: the selected items."""
    if not 1 <= len(bounds) <= 3:
        raise TypeError(f"islice expected 2 to 4 arguments, got {1 + len(bounds)}")
    given, message = slice(*bounds), _INDEX.format("Indices for islice()")
    start = _read_bound(given.start, message) or 0
    stop = _read_bound(given.stop, message if len(bounds) > 1 else _INDEX.format("Stop argument for islice()"))
    step = _read_bound(given.step, _STEP, 1) or 1
    return _sliced(iter(iterable), start, stop, step)


def _read_bound(value: Any, message: str, least: int = 0) -> int | None:
    """A bound as a number, read once; None stays None."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(message) from None
    if number < least:
        raise ValueError(message)
    return number


def _sliced(iterator: Iterator[Any], start: int, stop: int | None, step: int) -> Iterator[Any]:
    seen, wanted = 0, start
    while True:
        for _ in range(wanted - seen):
            if next(iterator, _ENDED) is _ENDED:
                return
        seen = max(seen, wanted)
        item = _ENDED if stop is not None and seen >= stop else next(iterator, _ENDED)
        if item is _ENDED:
            return
        seen += 1
        wanted = wanted + step if stop is None else min(wanted + step, stop)
        yield item


def batched(iterable: Iterable[Any], n: int, *, strict: bool = False) -> Iterator[tuple[Any, ...]]:
    """Tuples of ``n`` items; the last one may be shorter, unless ``strict``."""
    size = operator.index(n)
    if size < 1:
        raise ValueError("n must be at least one")
    return _batches(iter(iterable), size, strict)


def _batches(iterator: Iterator[Any], size: int, strict: bool) -> Iterator[tuple[Any, ...]]:
    while batch := tuple(_sliced(iterator, 0, size, 1)):
        if strict and len(batch) < size:
            raise ValueError("batched(): incomplete batch")
        yield batch


def groupby(
    iterable: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Consecutive keys, and an iterator over the items of each."""
    return _groups(iter(iterable), key)


def _groups(iterator: Iterator[Any], key: Callable[[Any], Any] | None) -> Iterator[tuple[Any, Iterator[Any]]]:
    item = current = None

    def advance() -> None:
        nonlocal item, current
        item = next(iterator, _ENDED)
        current = item if item is _ENDED or key is None else key(item)

    def group(target: Any) -> Iterator[Any]:
        while item is not _ENDED and (current is target or current == target):
            yield item
            advance()

    advance()
    while item is not _ENDED:
        members = group(current)
        yield current, members
        for _ in members:  # what was left out
            pass


ITERATORS: Mapping[str, Any] = {
    "batched": batched,
    "groupby": groupby,
    "islice": islice,
    "zip_longest": zip_longest,
}
