candidates = [{"id": "a", "rel": 0.9, "age": 10, "len": 300}, {"id": "b", "rel": 0.7, "age": 1, "len": 80}, {"id": "c", "rel": 0.2, "age": 400, "len": 900}]
WEIGHTS = {"rel": 0.7, "fresh": 0.2, "short": 0.1}


def features(c):
    return {"rel": c["rel"], "fresh": 1 / (1 + c["age"] / 30), "short": min(1, 100 / c["len"])}


def score(c):
    return sum(WEIGHTS[name] * value for name, value in features(c).items())


for c in sorted(candidates, key=score, reverse=True):
    print(c["id"], f"{score(c):.3f}", {k: round(v, 2) for k, v in features(c).items()})
best, *others = sorted(candidates, key=score, reverse=True)
print(best["id"], [o["id"] for o in others], [c["id"] for c in candidates if score(c) > 0.5])
