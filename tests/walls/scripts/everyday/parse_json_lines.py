import json

raw = '{"id": 1, "tags": ["a"]}\nnot json\n{"id": 2, "tags": []}\n\n{"id": 3}'
good, bad = [], []
for n, line in enumerate(raw.splitlines(), 1):
    if not line.strip():
        continue
    try:
        good.append(json.loads(line))
    except json.JSONDecodeError as e:
        bad.append((n, e.msg))
print(good, bad, [g["id"] for g in good if g.get("tags")])
