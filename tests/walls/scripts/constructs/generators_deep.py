def counter(start=0):
    try:
        while True:
            got = yield start
            start = got if got is not None else start + 1
    except GeneratorExit:
        print("closing")
        raise
    finally:
        print("cleanup")


g = counter(5)
print(next(g), next(g), g.send(50), next(g))
g.close()


def average():
    total = count = 0
    value = None
    while True:
        value = yield (total / count if count else None)
        if value is None:
            return total, count
        total += value
        count += 1


def delegate(log):
    result = yield from average()
    log.append(result)
    return "end"


log = []
d = delegate(log)
next(d)
print([d.send(v) for v in (1, 2, 6)])
try:
    d.send(None)
except StopIteration as stop:
    print(stop.value, log)


def chunks(items, size):
    for start in range(0, len(items), size):
        yield items[start : start + size]


def flatten(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flatten(item)
    else:
        yield value


print(list(chunks("abcdefg", 3)), list(flatten([1, (2, [3, [4]])])), sum(x for x in range(5) if x % 2))
lazy = (print("now", n) or n for n in range(2))
print("before")
print(list(lazy), list(lazy))
pairs = ((x, y) for x in range(3) for y in range(x))
print(list(pairs), next(iter([]), "empty"), any(x > 2 for x in range(5)), all(()))
gen = (x for x in [1])
print(type(gen).__name__, type(counter).__name__)
try:
    next(gen), next(gen)
except StopIteration as stop:
    print("stopped", stop.value)
def bad():
    yield 1
    raise StopIteration("inner")
try:
    list(bad())
except RuntimeError as error:
    print(error, repr(error.__cause__))
