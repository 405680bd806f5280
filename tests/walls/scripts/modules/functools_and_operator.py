import operator
from functools import cached_property, cmp_to_key, lru_cache, partial, reduce, total_ordering, wraps

rows = [{"id": 2, "s": 0.5, "t": "b"}, {"id": 1, "s": 0.9, "t": "a"}, {"id": 3, "s": 0.5, "t": "a"}]
print(sorted(rows, key=operator.itemgetter("s", "id")), max(rows, key=operator.itemgetter("s"))["id"], list(map(operator.itemgetter("t"), rows)))
print(reduce(operator.or_, [{1}, {2}]), reduce(lambda acc, r: {**acc, r["id"]: r["t"]}, rows, {}), operator.add(1, 2), operator.contains([1], 1), operator.mul(2, "ab"), operator.not_(0), operator.truediv(1, 4), operator.concat([1], [2]), operator.indexOf([5, 6], 6))
say = partial(print, "prefix", sep=":")
say("a", "b")
print(sorted("bAc", key=cmp_to_key(lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))), partial(pow, exp=2)(3), partial(str.split, maxsplit=1)("a b c"))


@lru_cache(maxsize=32)
def slow(n):
    return n * 2


print([slow(n % 2) for n in range(4)], slow.cache_info(), slow.__wrapped__(3) if hasattr(slow, "nope") else slow.cache_parameters())


class Data:
    def __init__(self, items):
        self.items = items

    @cached_property
    def total(self):
        print("summing")
        return sum(self.items)


d = Data([1, 2])
print(d.total, d.total, d.__dict__)
