data = {"users": [{"name": "bo", "emails": ["b@x", "b@y"]}, {"name": "al", "emails": []}], "meta": {"page": {"next": None}}}


def walk(value, path="$"):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from walk(v, f"{path}.{k}")
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from walk(v, f"{path}[{i}]")
    else:
        yield path, value


def get(value, path, default=None):
    for key in path.split("."):
        try:
            value = value[int(key)] if key.isdigit() else value[key]
        except (KeyError, IndexError, TypeError):
            return default
    return value


for path, value in walk(data):
    print(path, "=", repr(value))
print(get(data, "users.0.emails.1"), get(data, "users.5.name", "?"), get(data, "meta.page.next.x"), [u["name"] for u in data.get("users", []) if u["emails"]])
