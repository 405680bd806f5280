a = {row.id: row for row in semantic_search("retry", top_k=10)}
b = {row.id: row for row in semantic_search("backup", top_k=10)}
print("both", sorted(a.keys() & b.keys()), "only a", sorted(a.keys() - b.keys())[:3], "only b", sorted(b.keys() - a.keys())[:3])
print(f"{len(a.keys() & b.keys()) / len(a.keys() | b.keys()):.2f}", [a[i].title == b[i].title for i in sorted(a.keys() & b.keys())])
rows = sorted([*a.values(), *b.values()], key=lambda r: (-r.score, r["id"]))
unique = list({r.id: r for r in rows}.values())
print([(r.id, r.score) for r in unique][:5], {r.type for r in unique})
