def merge(a, b):
    out = dict(a)
    for k, v in b.items():
        out[k] = merge(out[k], v) if isinstance(v, dict) and isinstance(out.get(k), dict) else v
    return out


base = {"db": {"host": "h", "port": 1}, "debug": False}
print(merge(base, {"db": {"port": 2}, "new": [1]}), base, {**base, "debug": True}, base | {"x": 1})
inverted = {}
for k, v in {"a": 1, "b": 2, "c": 1}.items():
    inverted.setdefault(v, []).append(k)
print(inverted, {v: k for k, v in {"x": 1}.items()}, dict(sorted({"b": 1, "a": 2}.items())), {k: v for k, v in {"a": None, "b": 0}.items() if v is not None})
