seen, merged = set(), []
for question in ("retry", "timeouts", "backup"):
    for row in kb.search(question, top_k=5):
        if row.id in seen:
            continue
        seen.add(row.id)
        merged.append((question, row.title, round(row.score, 3)))
print(sorted(merged))
