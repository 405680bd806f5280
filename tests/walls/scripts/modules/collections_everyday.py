from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, Sequence

c = Counter("mississippi")
c.update("miss"); c["z"] += 1
print(c, c.most_common(2), c["nope"], c.total(), sorted(c.elements())[:3], c - Counter("is"), c & Counter("sss"), Counter(a=1) + Counter(a=2), +Counter(a=-1, b=1), Counter(["x", "y", "x"]).items())
dd = defaultdict(lambda: defaultdict(int))
for word in "the cat the dog".split():
    dd[word[0]][word] += 1
print({k: dict(v) for k, v in dd.items()}, dd.default_factory is not None, defaultdict(list, a=[1]), "zz" in dd)
q = deque([1, 2, 3], maxlen=3)
q.append(4); q.appendleft(0); q.rotate(1); q.extend([7, 8])
print(q, q[0], q.pop(), q.popleft(), len(q), list(reversed(q)), deque("ab") + deque("c"), q.maxlen)
od = OrderedDict([("a", 1), ("b", 2)])
od.move_to_end("a"); print(od, od.popitem(last=False), list(od))
cm = ChainMap({"a": 1}, {"a": 2, "b": 3})
print(cm["a"], cm["b"], dict(cm), cm.new_child({"c": 4})["c"], cm.maps, cm.parents)


class Lower(UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)


class Stack(UserList):
    def push(self, item):
        self.data.append(item)


class LazyMap(Mapping):
    def __init__(self, keys):
        self._keys = keys

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return key * 2

    def __iter__(self):
        return iter(self._keys)

    def __len__(self):
        return len(self._keys)


class Store(MutableMapping):
    def __init__(self):
        self.data = {}

    def __getitem__(self, k):
        return self.data[k]

    def __setitem__(self, k, v):
        self.data[k] = v

    def __delitem__(self, k):
        del self.data[k]

    def __iter__(self):
        return iter(self.data)

    def __len__(self):
        return len(self.data)


low = Lower(A=1); low["B"] = 2
s = Stack([1]); s.push(2)
lazy, store = LazyMap("ab"), Store()
store.update(x=1, y=2)
print(low, s, lazy.get("z"), dict(lazy), list(lazy.items()), "a" in lazy, store.pop("x"), store.setdefault("k", 5), len(store), UserString("ab").upper())
print(isinstance(lazy, Mapping), isinstance([], Sequence), isinstance(len, Callable), isinstance([], Hashable), isinstance("a", Iterable), issubclass(dict, MutableMapping))
for bad in (lambda: deque().pop(), lambda: OrderedDict().popitem(), lambda: lazy["z"], lambda: Counter(3), lambda: LazyMap()):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
