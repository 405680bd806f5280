total = 0


def outer():
    count = 0
    names = []

    def inner(name):
        nonlocal count
        global total
        count += 1
        total += 10
        names.append(name)
        return count

    def reset():
        nonlocal count, names
        count, names = 0, []
        return names

    return inner, reset, lambda: (count, names)


inner, reset, state = outer()
inner("a"), inner("b")
print(state(), total, reset(), state())
functions = [lambda: i for i in range(3)]
print([f() for f in functions], [f() for f in [lambda i=i: i for i in range(3)]])
if (n := len("abc")) > 2 and (m := n * 2):
    print(n, m)
print([last := x for x in range(4)], last, {k: (v := k * 2) for k in range(2)}, v)
x = "global"


class Scope:
    x = "class"
    y = [x for _ in range(1)]

    def get(self):
        return x


print(Scope.x, Scope.y, Scope().get())


def shadow():
    try:
        print(x)
        x = 1
    except UnboundLocalError as error:
        print(error)


try:
    shadow()
except UnboundLocalError as error:
    print(error)


def declares():
    global fresh
    fresh = "made"


declares()
print(fresh)
try:
    del fresh
    fresh
except NameError as error:
    print(error, error.name)
try:
    raise KeyError("k")
except KeyError as e:
    pass
try:
    e
except NameError as error:
    print(error)


def defaults(item, bucket=[]):
    bucket.append(item)
    return bucket


print(defaults(1), defaults(2), (lambda *a, **k: (a, k))(*range(2), **{"z": 1}))


def recursive(n):
    return 1 if n < 2 else n * recursive(n - 1)


print(recursive(10), (lambda f: f(f, 5))(lambda f, n: 1 if n < 2 else n * f(f, n - 1)))
