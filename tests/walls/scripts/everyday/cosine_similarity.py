import math
from collections import Counter


def vector(text):
    return Counter(text.lower().split())


def cosine(a, b):
    dot = sum(a[w] * b[w] for w in a.keys() & b.keys())
    norm = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in b.values()))
    return dot / norm if norm else 0.0


docs = ["the cat sat", "the dog sat down", "a completely different thing"]
query = vector("where the cat sat")
ranked = sorted(((round(cosine(query, vector(d)), 4), d) for d in docs), reverse=True)
print(ranked)
