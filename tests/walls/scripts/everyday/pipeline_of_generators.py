def read(lines):
    for line in lines:
        yield line.rstrip("\n")


def keep(pattern, lines):
    return (l for l in lines if pattern in l)


def numbered(lines):
    for n, line in enumerate(lines, 1):
        yield f"{n:03}: {line}"


def take(n, items):
    for _, item in zip(range(n), items):
        yield item


text = ["alpha x\n", "beta\n", "gamma x\n", "delta x\n"]
print(list(take(2, numbered(keep("x", read(text))))))


def running():
    total = 0
    while True:
        value = yield total
        if value is None:
            return
        total += value


r = running()
next(r)
print([r.send(v) for v in (5, 10, -3)])
