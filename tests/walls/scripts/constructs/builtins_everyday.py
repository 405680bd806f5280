print(sorted([("b", 2), ("a", 3)], key=lambda p: (-p[1], p[0])), sorted({"x": 1, "a": 2}), sorted("hello", reverse=True))
print(list(enumerate(["a", "b"], start=1)), list(zip([1, 2], "ab", [True, False])), list(reversed(range(3))), list(map(max, [1, 5], [3, 2])))
print(sum([[1], [2]], []), sum([0.1] * 3), min("b", "a"), max([3, 1], default=0), max({"a": 1, "b": 5}.items(), key=lambda kv: kv[1]))
print(abs(-2.5), divmod(-7, 2), pow(2, -1), pow(3, 4, 5), round(2.5), round(-1.555, 2), round(1234, -2), int("  42 "), int("-0b11", 0), float("inf"), float("-1e3"))
print(bin(10), oct(8), hex(255), chr(8364), ord("€"), ascii("€"), bool([]), bool("0"), complex("1+2j"), (1 + 2j) * 2, hash(1) == hash(1.0))
print(isinstance(True, int), issubclass(dict, object), callable(print), type(3) is int, type("a")("b"), type([1])((1, 2)), type(None)())
print(list(filter(lambda x: x > 1, [1, 2, 3])), all(x for x in [1, 1]), any([]), tuple([1]), set("aab") == {"a", "b"}, frozenset([1, 2]) & {2}, dict(a=1, **{"b": 2}), dict([("k", 1)]))
print(iter([1]).__class__.__name__, next(iter("z")), slice(1, 5, 2).indices(4), bytes([1, 2]), bytearray(b"ab") + b"c", b"abc"[1], b"a,b".split(b","))
print(id(print) == id(print), repr({}), str([1, "a", None]), format(3.14159, ".2f"), format(255, "#x"), len({1: 2}), range(1, 10, 3), list(range(5, 0, -2)), 5 in range(10), range(10)[-1])
print([1, 2] < [1, 3], (1, "a") == (1, "a"), "a" < "b", {1, 2} < {1, 2, 3}, {"a": 1} == {"a": 1.0}, None is None, [] is [], 1 == True)
it = iter([1, 2, 3])
print(next(it), list(it), next(it, "done"), list(iter(lambda c=[0]: c.append(1) or len(c), 4)))
l = [3, 1, 2]
l.sort(key=lambda x: -x); l.insert(1, 9); l.extend([4, 4]); l.remove(4); print(l, l.pop(), l.pop(0), l.index(2), l.count(4), l.copy(), l.reverse(), l, l.clear(), l)
d = {"a": 1, "b": 2}
print(d.get("z", 0), d.pop("a"), d.setdefault("c", []), d.update(x=1), d, list(d.keys()), list(d.values()), d.popitem(), dict.fromkeys("ab", 0), "b" in d, d.items() & {("b", 2)})
s = {1, 2, 3}
s.add(4); s.discard(9); s.remove(1); print(s, s | {7}, s & {2}, s - {2}, s ^ {2, 8}, s.issubset({2, 3, 4, 5}), s.isdisjoint({9}), s.pop() in (2, 3, 4), s.union([1], [2]))
print((5).bit_length(), (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "big"), (0.5).as_integer_ratio(), (1.0).is_integer(), float.fromhex("0x1p3"), (2.5).hex(), 10**20, 7 // 2, -7 // 2, 7 % -3, 2**0.5, 1e3, 0x1F, 0b11, 1_000)
for bad in (lambda: int("a"), lambda: [].pop(), lambda: {}.popitem(), lambda: [1].remove(2), lambda: "a".index("z"), lambda: list(zip([1], [], strict=True)), lambda: max([]), lambda: chr(-1), lambda: len(3), lambda: sorted([1, "a"]), lambda: sum("ab"), lambda: range(0, 1, 0), lambda: iter(3), lambda: next(3), lambda: abs("x"), lambda: float("x"), lambda: round("x"), lambda: [1][1.5], lambda: {[]: 1}, lambda: hash([]), lambda: int(None), lambda: "a" * "b", lambda: isinstance(1, 2), lambda: ord("ab"), lambda: divmod(1, 0), lambda: 5 % 0, lambda: 2.0 // 0, lambda: (1, 2) + [3], lambda: -"a", lambda: 1 < "a", lambda: {} < {}, lambda: "%d" % "x", lambda: "%s %s" % (1,), lambda: bytes("a"), lambda: dict([1]), lambda: set(1), lambda: 3(), lambda: None[0], lambda: 1[0], lambda: "abc"["a"], lambda: str.nope, lambda: list(5), lambda: enumerate(5), lambda: int("1" * 5000), lambda: [].index(1), lambda: ().index(1), lambda: "x".join([1]), lambda: float(10**400), lambda: 10.0**400, lambda: (-1) ** 0.5 and 1 << -1):
    try:
        print(bad())
    except Exception as error:
        print(type(error).__name__, "|", error)
