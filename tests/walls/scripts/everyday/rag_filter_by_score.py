rows = semantic_search("retry policy", top_k=20)
good = [row for row in rows if row.score >= 0.5 and row.type == "markdown"]
for row in good:
    print(f"{row.score:.2f}  {row.title:<24} {row['file']}")
print(len(rows), len(good), rows.count, rows[0].id in rows.ids)
