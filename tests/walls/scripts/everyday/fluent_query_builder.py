class Query:
    def __init__(self, rows):
        self._rows = list(rows)
        self._steps = []

    def where(self, **conditions):
        def test(row):
            for key, value in conditions.items():
                field, _, op = key.partition("__")
                actual = row.get(field)
                match op:
                    case "" | "eq":
                        if actual != value:
                            return False
                    case "gt":
                        if not actual > value:
                            return False
                    case "in":
                        if actual not in value:
                            return False
                    case unknown:
                        raise ValueError(f"no operator {unknown!r}")
            return True

        self._steps.append(lambda rows: [r for r in rows if test(r)])
        return self

    def order_by(self, *keys):
        for key in reversed(keys):
            name, reverse = (key[1:], True) if key.startswith("-") else (key, False)
            self._steps.append(lambda rows, n=name, r=reverse: sorted(rows, key=lambda row: row[n], reverse=r))
        return self

    def __iter__(self):
        rows = self._rows
        for step in self._steps:
            rows = step(rows)
        return iter(rows)


data = [{"id": 1, "k": "a", "n": 5}, {"id": 2, "k": "b", "n": 7}, {"id": 3, "k": "a", "n": 9}]
print(list(Query(data).where(k="a", n__gt=5)), [r["id"] for r in Query(data).order_by("k", "-n")], [r["id"] for r in Query(data).where(id__in=(1, 2))])
try:
    list(Query(data).where(n__near=1))
except ValueError as error:
    print(error)
