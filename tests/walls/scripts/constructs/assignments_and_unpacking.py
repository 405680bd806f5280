a, *b = range(4)
*c, d = "xyz"
(e, f), [g, *h] = (1, 2), [3, 4, 5]
i = j = k = []
k.append(1)
print(a, b, c, d, e, f, g, h, i, j is k)
data = {"list": [1, 2, 3, 4, 5], "n": {"deep": 1}}
data["list"][1:3] = ["x"]
data["list"][::2] = [0, 0]
data["n"]["deep"] += 5
data["n"].setdefault("new", []).append(1)
data["list"] += [9]
print(data)
s = [1, 2, 3, 4]
s[0] += 10; s[1] -= 1; s[2] *= 3; s[3] **= 2
print(s)
s[1:2] += ["in"]
print(s)
q = 17
q //= 3; q <<= 2; q |= 1; q ^= 2; q &= 0xFF; q %= 16; q >>= 1
print(q)
t = (1,)
t += (2,)
text = "a"
text *= 3
u = {1} | {2}
u |= {3}
v = {"a": 1} | {"b": 2}
v |= {"a": 5}
print(t, text, u, v)


class Node:
    def __init__(self):
        self.value = 1
        self.items = [1, 2, 3]
        self.child = None


n = Node()
n.child = Node()
n.child.value += 4
n.child.items[0] += 100
n.items[1:] = []
n.items += [7]
n.child.value, n.value = n.value, n.child.value
print(n.value, n.child.value, n.items, n.child.items)
x, y = 1, 2
x, y = y, x
first, second = sorted({"b": 1, "a": 2}.items())
(only,) = [5]
for index, (key, (left, *right)) in enumerate({"k": (1, 2, 3)}.items()):
    print(index, key, left, right)
print(x, y, first, second, only, [*range(2), *"ab", *{"k": 1}], {**{"a": 1}, "b": 2, **{"a": 3}}, (*[1], 2))
count: int = 0
ready: bool
count += 1
print(count)
del data["list"], s[0], n.items[0], n.child
print(data, s, n.items, hasattr(n, "child"))
for attempt in ("a, b = 1", "a, b = [1]", "a, b = 1, 2, 3", "a, *b, c = [1]"):
    print(attempt)
try:
    a, b = [1, 2, 3]
except ValueError as error:
    print(error)
try:
    a, *b, c = [1]
except ValueError as error:
    print(error)
try:
    t[0] = 5
except TypeError as error:
    print(error)
