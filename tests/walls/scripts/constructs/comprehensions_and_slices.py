matrix = [[1, 2, 3], [4, 5, 6]]
print([[row[i] for row in matrix] for i in range(3)], [x for row in matrix for x in row if x % 2], {len(w): w for w in ["a", "bb", "cc"]})
print({(x, y) for x in range(2) for y in range(2)}, [a if a > 1 else -a for a in range(4)], [(i, c) for i, c in enumerate("ab")])
print([x for x in range(20) if x % 2 if x % 3], sorted({w[0] for w in ["ab", "ac", "b"]}), list(zip(*matrix)), dict(zip("ab", matrix)))
s = list(range(10))
print(s[2:5], s[-3:], s[::3], s[::-2], s[8:2:-3], s[:0], s[20:], s[slice(1, 3)])
print([f"{k}={v}" for k, v in sorted({"b": 1, "a": 2}.items())], sum(x * y for x, y in zip([1, 2], [3, 4])), [[] for _ in range(2)])
print([y for x in range(3) if (y := x * x) > 0], [*map(str, range(3))], [(lambda n: n + i)(1) for i in range(2)])
nested = {k: {kk: vv for kk, vv in v.items() if vv} for k, v in {"a": {"x": 0, "y": 1}}.items()}
print(nested, any(v for v in nested.values()), max((len(k), k) for k in nested), {**{k: 1 for k in "ab"}})
