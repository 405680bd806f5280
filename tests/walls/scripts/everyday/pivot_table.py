from collections import defaultdict

data = [("2025", "a", 1), ("2025", "b", 2), ("2026", "a", 3), ("2026", "a", 4)]
pivot = defaultdict(lambda: defaultdict(int))
columns = sorted({item for _, item, _ in data})
for year, item, n in data:
    pivot[year][item] += n
print("year", *columns, "sum", sep="\t")
for year in sorted(pivot):
    print(year, *(pivot[year][c] for c in columns), sum(pivot[year].values()), sep="\t")
