import re

hits = semantic_search("timeouts", top_k=5)
documents = fetch([hit.id for hit in hits])
facts = {}
for doc in documents:
    for number, unit in re.findall(r"(\d+(?:\.\d+)?)\s*(seconds?|days?|times)", doc.content):
        facts.setdefault(unit.rstrip("s"), []).append((float(number), doc.id))
for unit in sorted(facts):
    print(unit, sorted(facts[unit]))
