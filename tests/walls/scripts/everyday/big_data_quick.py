rows = [{"id": i, "group": i % 7, "value": (i * 7919) % 1000} for i in range(20000)]
top = sorted((r for r in rows if r["value"] > 990), key=lambda r: (-r["value"], r["id"]))[:3]
totals = {}
for r in rows:
    totals[r["group"]] = totals.get(r["group"], 0) + r["value"]
print(top, totals, sum(len(str(r)) for r in rows))
