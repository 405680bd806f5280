from collections import defaultdict

sales = [("north", "a", 10), ("south", "b", 5), ("north", "b", 7), ("south", "a", 1), ("north", "a", 3)]
by_region = defaultdict(lambda: {"total": 0, "items": defaultdict(int)})
for region, item, amount in sales:
    by_region[region]["total"] += amount
    by_region[region]["items"][item] += amount
for region, info in sorted(by_region.items(), key=lambda kv: -kv[1]["total"]):
    print(region, info["total"], dict(info["items"]), f"{info['total'] / sum(a for *_, a in sales):.1%}")
