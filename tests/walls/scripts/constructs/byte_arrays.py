class Number:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Shouted(bytearray):
    def __setitem__(self, key, value):
        print("set", key, value)
        super().__setitem__(key, value)


class Word(str):
    pass


data = bytearray(b"hello")
data[0] = 72
data[-1] = Number(33)
data[1:3] = b"EL"
data[::2] = bytearray(b"xyz")
del data[0]
del data[Number(1) : 2]
data[5:] = [1, Number(2)]
data[:0] = (3,)
data[0:1] = (byte for byte in b"ab")
data[1:1] = data
print(data, len(data), list(data))
data.extend(range(3))
data.extend([Number(7)])
data.extend(b"zz")
data.extend(data)
data += b"q"
print(data)
print(data.find(b"z"), data.find(Number(122), Number(3)), data.rfind(b"z", 0, -2), data.count(Number(122)), data.count(b""))
print(data.index(b"q"), data.rindex(7), 1 in data, Number(122) in data, b"zz" in data, b"" in data)
print(data.startswith((b"b", b"a")), data.startswith(b"q", Number(len(data) - 1)), data.endswith(b"q"))
print(data.hex(), data.hex(":"), data.hex(sep=Word("-"), bytes_per_sep=Number(2)), data.hex(b"_", -3))
print(bytearray(b",").join(bytes([n]) for n in (65, 66)), bytearray().join([bytearray(b"a"), b"b"]))
print(bytearray(b"%d-%s-%r") % (5, b"x", "y"), bytearray(b"100%%") % (), bytearray(b"%(a)s") % {b"a": b"c"})
shouted = Shouted(b"abc")
shouted[1] = 65
shouted[0:2] = [66, 67]
print(shouted, shouted % (), shouted.find(b"c"), type(shouted.join([b"x"])).__name__, bytearray.find(shouted, b"c"))
map_of_calls = list(map(bytearray(b"banana").find, [b"a", b"n", b"z"]))
print(map_of_calls, sorted([3, 1, 2], key=bytearray([1, 2, 3]).index), bytearray.find.__name__)
sieve = bytearray([1]) * 50
for n in range(2, 8):
    if sieve[n]:
        sieve[n * n :: n] = bytes(len(range(n * n, 50, n)))
print([n for n in range(2, 50) if sieve[n]])

for attempt in (
    lambda: data.extend("ab"),
    lambda: data.extend(5),
    lambda: data.extend([256]),
    lambda: data.extend([1, "a"]),
    lambda: data.__setitem__(0, 300),
    lambda: data.__setitem__(999, 1),
    lambda: data.__setitem__("a", 1),
    lambda: data.__setitem__(1.5, 1),
    lambda: data.__setitem__(0, "a"),
    lambda: data.__setitem__(0, b"a"),
    lambda: data.__setitem__(slice(0, 2), 5),
    lambda: data.__setitem__(slice(0, 2), "ab"),
    lambda: data.__setitem__(slice(0, 4, 2), b"a"),
    lambda: data.__setitem__(slice("a", 2), b"a"),
    lambda: data.__delitem__(999),
    lambda: data.__delitem__("a"),
    lambda: data.find("a"),
    lambda: data.find(),
    lambda: data.find(b"a", "b"),
    lambda: data.find(300),
    lambda: data.index(b"nope"),
    lambda: data.count(None),
    lambda: data.startswith("a"),
    lambda: data.startswith([b"a"]),
    lambda: data.hex("::"),
    lambda: data.hex(1),
    lambda: "a" in data,
    lambda: 300 in data,
    lambda: bytearray(b",").join(["a"]),
    lambda: bytearray(b",").join(5),
    lambda: bytearray(b"%d") % "a",
    lambda: bytearray(b"%d") % (1, 2),
    lambda: 5 % bytearray(b"x"),
    lambda: [1] % bytearray(),
    lambda: bytearray.find(5, b"a"),
):
    try:
        print(attempt())
    except Exception as error:
        print(type(error).__name__, error)
