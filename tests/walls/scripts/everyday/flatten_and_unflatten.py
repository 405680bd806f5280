def flatten(d, prefix=""):
    out = {}
    for k, v in d.items():
        key = f"{prefix}.{k}" if prefix else k
        if isinstance(v, dict):
            out |= flatten(v, key)
        elif isinstance(v, list):
            out.update({f"{key}[{i}]": x for i, x in enumerate(v)})
        else:
            out[key] = v
    return out


def unflatten(flat):
    out = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        node = out
        for p in path:
            node = node.setdefault(p, {})
        node[last] = value
    return out


flat = flatten({"a": {"b": 1, "c": {"d": 2}}, "e": [3, 4]})
print(flat, unflatten({"a.b": 1, "a.c.d": 2, "e": 3}))
