def f(a, b=2, /, c=3, *args, d, e=5, **kw):
    return a, b, c, args, d, e, kw


print(f(1, d=4), f(1, 2, 3, 4, 5, d=6, e=7, z=8), f(*[1, 2], **{"d": 1, "x": 2}))


def g(*, key):
    return key


for attempt in (
    lambda: f(),
    lambda: f(1),
    lambda: f(1, b=2, d=3),
    lambda: g(1),
    lambda: g(),
    lambda: g(key=1, keyy=2),
    lambda: g(key=1, **{"key": 2}),
    lambda: (lambda x: x)(),
    lambda: (lambda x: x)(1, 2),
):
    try:
        print(attempt())
    except TypeError as error:
        print(error)


def documented(x: int, y: "str" = "a") -> bool:
    """Says something.

    More.
    """
    return bool(x)


print(documented.__name__, documented.__doc__.splitlines()[0], documented(1))
documented.calls = 3
documented.calls += 1
print(documented.calls, hasattr(documented, "nope"))
compose = lambda *fs: lambda x: [x := fn(x) for fn in fs][-1]
print(compose(str, len)(12345), sorted("bca", key=lambda ch: -ord(ch)), list(map(lambda a, b: a * b, [1, 2], [3, 4])))
print((lambda: (yield))().__class__.__name__, max("aaa", "b", key=len), min([], default=None))
