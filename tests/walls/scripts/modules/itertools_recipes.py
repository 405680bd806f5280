import itertools
import operator
from itertools import accumulate, chain, combinations, compress, count, cycle, dropwhile, filterfalse, groupby, islice, pairwise, permutations, product, repeat, starmap, takewhile, tee, zip_longest

print(list(accumulate([1, 2, 3], operator.mul)), list(accumulate([3, 1, 4], max, initial=0)), list(chain([1], "ab")), list(chain.from_iterable([[1], [2, 3]])))
print(list(combinations("abc", 2)), list(permutations([1, 2, 3], 2))[:3], list(product("ab", [1, 2])), list(product([0, 1], repeat=2)), list(itertools.combinations_with_replacement("ab", 2)))
print(list(islice(count(5, 2), 3)), list(islice(cycle("ab"), 5)), list(takewhile(lambda x: x < 3, range(9))), list(dropwhile(lambda x: x < 3, range(5))), list(filterfalse(None, [0, 1])), list(compress("abc", [1, 0, 1])))
words = sorted(["apple", "avocado", "bean", "cherry", "beet"], key=lambda w: w[0])
print({k: list(g) for k, g in groupby(words, key=lambda w: w[0])}, [(k, len(list(g))) for k, g in groupby("aabccc")], list(pairwise([1, 2, 3])), list(starmap(pow, [(2, 3), (3, 2)])), list(zip_longest("ab", [1], fillvalue="-")), list(repeat("x", 2)))
a, b = tee(range(3))
next(b, None)
print(list(zip(a, b)), list(islice("abcdef", 1, None, 2)))


def batched(items, n):
    it = iter(items)
    while batch := tuple(islice(it, n)):
        yield batch


def sliding(items, n):
    window = list(islice(items, n))
    for item in items:
        yield tuple(window)
        window = window[1:] + [item]
    yield tuple(window)


def unique(items, key=None):
    seen = set()
    for item in items:
        k = key(item) if key else item
        if k not in seen:
            seen.add(k)
            yield item


def roundrobin(*iterables):
    pending = [iter(i) for i in iterables]
    while pending:
        for it in list(pending):
            try:
                yield next(it)
            except StopIteration:
                pending.remove(it)


def partition(pred, items):
    t1, t2 = tee(items)
    return list(filterfalse(pred, t1)), list(filter(pred, t2))


print(list(batched("abcdefg", 3)), list(sliding(iter(range(5)), 3)), list(unique("aAbB", str.lower)), list(roundrobin("abc", "d", "ef")), partition(lambda x: x % 2, range(6)))
print(sum(1 for _ in groupby("aab")), max(combinations(range(4), 2), key=sum), list(map(operator.add, [1, 2], [3, 4])), dict(enumerate(chain("ab", "c"))))
