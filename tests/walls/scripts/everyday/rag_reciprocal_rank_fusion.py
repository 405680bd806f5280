from collections import defaultdict

scores = defaultdict(float)
titles = {}
for question in ("how to retry", "timeouts and retries", "network"):
    for rank, row in enumerate(semantic_search(question, top_k=10)):
        scores[row.id] += 1 / (60 + rank)
        titles[row.id] = row.title
ranked = sorted(scores, key=lambda i: (-scores[i], i))[:5]
for place, i in enumerate(ranked, 1):
    print(f"{place}. {titles[i]} ({scores[i]:.5f})")
