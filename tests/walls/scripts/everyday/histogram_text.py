import math

values = [3.2, 5.5, 1.1, 9.9, 4.4, 5.1, 5.9, 2.0]
low, high, bins = min(values), max(values), 4
width = (high - low) / bins
counts = [0] * bins
for v in values:
    counts[min(int((v - low) / width), bins - 1)] += 1
for i, c in enumerate(counts):
    print(f"{low + i * width:5.2f}-{low + (i + 1) * width:5.2f} | {'█' * c} {c}")
mean = sum(values) / len(values)
print(f"{mean=:.3f} sd={math.sqrt(sum((v - mean) ** 2 for v in values) / len(values)):.3f}")
