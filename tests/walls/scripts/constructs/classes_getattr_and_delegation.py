class Proxy:
    def __init__(self, target):
        self._target = target
        self.log = []

    def __getattr__(self, name):
        self.log.append(name)
        return getattr(self._target, name)


class Config(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        del self[name]


p = Proxy([3, 1, 2])
p.sort()
p.append(9)
print(p._target, p.log, p.index(2), hasattr(p, "nope"))
c = Config(a=1)
c.b = 2
del c.a
print(c, c.b, hasattr(c, "a"), getattr(c, "zz", "default"))
for name in ("b", "zz"):
    print(name, getattr(c, name, None))


class Point:
    x = 1


setattr(Point, "y", 5)
print(Point.y, getattr(Point(), "x"), callable(getattr(Point, "y")))
delattr(Point, "y")
try:
    Point.y
except AttributeError as error:
    print(error)
