import math
import re
from collections import Counter

docs = {"a": "Retries back off. Retries stop.", "b": "Backups are encrypted.", "c": "Retries and backups."}
tokens = {k: re.findall(r"\w+", v.lower()) for k, v in docs.items()}
df = Counter(t for ts in tokens.values() for t in set(ts))
tfidf = {k: {t: c / len(ts) * math.log(len(docs) / df[t]) for t, c in Counter(ts).items()} for k, ts in tokens.items()}
for k, weights in tfidf.items():
    best = max(sorted(weights), key=weights.get)
    print(k, best, f"{weights[best]:.4f}")
