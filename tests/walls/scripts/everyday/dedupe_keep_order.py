items = ["b", "a", "b", "c", "a"]
print(list(dict.fromkeys(items)), sorted(set(items)), [x for i, x in enumerate(items) if x not in items[:i]])
records = [{"id": 1, "v": "x"}, {"id": 2, "v": "y"}, {"id": 1, "v": "z"}]
print(list({r["id"]: r for r in records}.values()))
