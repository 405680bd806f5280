class Point:
    __slots__ = ("x", "y", "_cache")

    def __init__(self, x, y):
        self.x, self.y = x, y
        self._cache = None

    def norm(self):
        if self._cache is None:
            self._cache = (self.x**2 + self.y**2) ** 0.5
        return self._cache


class Point3(Point):
    __slots__ = ("z",)


p = Point(3, 4)
print(p.norm(), p._cache, Point.__slots__)
try:
    p.z = 1
except AttributeError as error:
    print(type(error).__name__, error)
q = Point3(1, 2)
q.z = 5
print(q.x, q.z, hasattr(q, "__dict__"))
del q.z
try:
    q.z
except AttributeError as error:
    print(error)
