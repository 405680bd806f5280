from collections import Counter

a, b = Counter("the cat and the dog".split()), Counter("the bird and a cat".split())
print(a & b, a - b, sorted((a | b).items()), sum((a + b).values()), (a + b).most_common(1), a == Counter(dict(a)), [w for w, n in a.items() if n > 1])
jaccard = len(a.keys() & b.keys()) / len(a.keys() | b.keys())
print(f"{jaccard:.3f}")
