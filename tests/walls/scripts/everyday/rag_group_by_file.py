from itertools import groupby

rows = sorted(semantic_search("guide", top_k=50), key=lambda r: (r.file, -r.score))
for file, group in groupby(rows, key=lambda r: r.file):
    group = list(group)
    print(file, len(group), max(r.score for r in group), [r.section for r in group])
