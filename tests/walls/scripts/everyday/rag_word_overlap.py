import re
from collections import Counter

STOP = {"the", "a", "of", "and", "is", "are", "to", "in", "for", "after"}


def words(text):
    return [w for w in re.findall(r"[a-z]+", text.lower()) if w not in STOP]


docs = fetch(semantic_search("guide", top_k=6).ids)
counts = {d.id: Counter(words(d.content)) for d in docs}
common = Counter()
for c in counts.values():
    common.update(set(c))
print(common.most_common(5))
pairs = [(a, b, len(counts[a].keys() & counts[b].keys())) for a in counts for b in counts if a < b]
print(sorted(pairs, key=lambda p: (-p[2], p))[:3])
