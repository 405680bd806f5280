tree = {"name": "root", "children": [{"name": "a", "children": [{"name": "b", "children": []}]}, {"name": "c", "children": []}]}


def depth(node):
    return 1 + max(map(depth, node["children"]), default=0)


def show(node, indent=0):
    yield "  " * indent + node["name"]
    for child in node["children"]:
        yield from show(child, indent + 1)


def find(node, name, path=()):
    path = (*path, node["name"])
    if node["name"] == name:
        return path
    return next((found for child in node["children"] if (found := find(child, name, path))), None)


print(depth(tree), "\n".join(show(tree)), find(tree, "b"), find(tree, "zz"), sep="\n")


def permutations(items):
    if len(items) <= 1:
        return [items]
    return [[x, *rest] for i, x in enumerate(items) for rest in permutations(items[:i] + items[i + 1 :])]


def hanoi(n, a="A", b="B", c="C"):
    return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)


print(len(permutations([1, 2, 3, 4])), permutations("ab") if False else permutations([1, 2]), hanoi(2))
