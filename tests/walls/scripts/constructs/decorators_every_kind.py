import functools


def logged(fn=None, *, prefix="call"):
    if fn is None:
        return functools.partial(logged, prefix=prefix)

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print(prefix, fn.__name__, args, kwargs)
        return fn(*args, **kwargs)

    return wrapper


def retry(times):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return fn(*args, **kwargs)
                except ValueError as error:
                    print("attempt", attempt, error)
            raise RuntimeError("gave up")

        return wrapper

    return decorate


class CountCalls:
    def __init__(self, fn):
        self.fn, self.calls = fn, 0

    def __call__(self, *args):
        self.calls += 1
        return self.fn(*args)

    def __get__(self, instance, owner):
        return functools.partial(self, instance)


def register(cls):
    cls.registered = True
    return cls


@logged
def add(a, b=1):
    "Adds."
    return a + b


@logged(prefix=">>")
@retry(2)
def flaky(state=[0]):
    state[0] += 1
    if state[0] < 2:
        raise ValueError("not yet")
    return "ok"


@CountCalls
def square(x):
    return x * x


@register
class Thing:
    @staticmethod
    @logged
    def make():
        return Thing()

    @functools.lru_cache(maxsize=2)
    def slow(self, n):
        print("computing", n)
        return n

    @functools.cached_property
    def once(self):
        print("once")
        return 1

    @(lambda fn: fn)
    def same(self):
        return 1


print(add(1, b=2), add.__name__, add.__doc__, add.__wrapped__(5), flaky(), flaky.__name__)
print(square(3), square(4), square.calls, Thing.registered, type(Thing.make()).__name__)
t = Thing()
print(t.slow(1), t.slow(1), t.once, t.once, Thing.slow.cache_info())


@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(80), fib.cache_info().hits, fib.cache_clear(), fib.cache_info().currsize)
print(functools.reduce(lambda a, b: f"({a}{b})", "abcd"), functools.partial(int, base=2)("101"), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)))
p = functools.partial(add, 1, b=5)
print(p.args, p.keywords, p())
