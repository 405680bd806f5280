import functools
import time


def ttl_cache(seconds):
    def decorate(fn):
        cache = {}

        @functools.wraps(fn)
        def wrapper(*args):
            now = time.monotonic()
            if args in cache and now - cache[args][0] < seconds:
                wrapper.hits += 1
                return cache[args][1]
            value = fn(*args)
            cache[args] = now, value
            return value

        wrapper.hits = 0
        return wrapper

    return decorate


@ttl_cache(60)
def slow(n):
    """Slow."""
    return n * n


print([slow(n) for n in (1, 2, 1, 1)], slow.hits, slow.__name__, slow.__doc__)
