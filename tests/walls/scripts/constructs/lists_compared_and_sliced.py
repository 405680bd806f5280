class Plain(list):
    pass


class Own(list):
    def __lt__(self, other):
        return "own"

    __gt__ = __lt__


def attempt(action):
    try:
        print(action())
    except Exception as error:
        print(type(error).__name__, error)


print([1, 2] < [1, 3], [1] > [0], [1] <= [1], [2] >= [3], [1] == [1], [1] != [1], [] < [0], [1, 2] > [1])
print(sorted([[2], [1], [0, 5]]), sorted([([2], 1), ([1], 2)]), max([1], [2]), min([[3], [1, 2]], key=len))
print(Plain([1]) < [2], [1] < Plain([2]), Plain([1]) < Plain([0]), Own([1]) < [2], [1] < Own([2]))
attempt(lambda: [1] < 2)
attempt(lambda: [1] < (1,))
attempt(lambda: [1] < ["a"])
attempt(lambda: list.__lt__([1], 2))
items = list(range(10))
items[::2] = iter([9] * 5)
items[-1] = 7
items[1:3] = "abc"
items[:0] = {0: 1}
items[::-1] = items
items[2:2] = items
print(items)
attempt(lambda: items.__setitem__(slice(0, 2), 5))
attempt(lambda: items.__setitem__(slice(0, 4, 2), 5))
attempt(lambda: items.__setitem__(slice(0, 4, 2), [1]))
attempt(lambda: items.__setitem__("a", 1))
attempt(lambda: items.__setitem__(99, 1))
attempt(lambda: items.__setitem__(slice("a", 2), []))
plain = Plain([1, 2])
plain[0] = 5
plain[5:] = (1,)
print(plain, type(plain).__name__)

error = UnicodeDecodeError("utf-8", b"abc", 1, 2, "why")
print(error, repr(error), error.args)
error.start, error.end = 0, 3
print(error, str(UnicodeDecodeError("utf-8", b"abc", 1, 3, "why")))
for data in (b"\xff", b"a\xe2\x28", b"\xe2"):
    attempt(data.decode)
attempt(lambda: b"\x80".decode("ascii"))
