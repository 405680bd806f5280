text = """
| name | score | ok |
|------|------:|----|
| bo   |  1.5  | yes |
| al   |  2    | no |
"""
lines = [l.strip().strip("|").split("|") for l in text.strip().splitlines()]
header, _, *body = [[c.strip() for c in l] for l in lines]
rows = [dict(zip(header, cells)) for cells in body]
print(rows, sum(float(r["score"]) for r in rows), [r["name"] for r in rows if r["ok"] == "yes"])
