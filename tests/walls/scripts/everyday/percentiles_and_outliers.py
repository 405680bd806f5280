import statistics

data = sorted([12, 15, 11, 14, 13, 90, 12, 16])
q1, q2, q3 = statistics.quantiles(data, n=4)
iqr = q3 - q1
print(q1, q2, q3, [x for x in data if not q1 - 1.5 * iqr <= x <= q3 + 1.5 * iqr])
rank = lambda x: sum(v <= x for v in data) / len(data)
print([f"{rank(x):.0%}" for x in (11, 14, 90)], statistics.fmean(data), round(statistics.stdev(data), 3))
z = [(x - statistics.mean(data)) / statistics.pstdev(data) for x in data]
print([round(v, 2) for v in z])
