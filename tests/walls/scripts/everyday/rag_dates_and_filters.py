from collections import Counter
from datetime import date, timedelta

rows = semantic_search("guide", top_k=50)
today = date(2026, 1, 10)
recent = [r for r in rows if today - date.fromisoformat(r.created) <= timedelta(days=5)]
print([r.id for r in recent], Counter(date.fromisoformat(r.created).strftime("%A") for r in rows).most_common(2))
by_week = {}
for r in rows:
    by_week.setdefault(date.fromisoformat(r.created).isocalendar().week, []).append(r.id)
print({week: len(ids) for week, ids in sorted(by_week.items())}, min(rows, key=lambda r: r.created).title)
