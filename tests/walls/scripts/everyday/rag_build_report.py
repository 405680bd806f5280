sections = []
for topic in ("retry", "backup"):
    rows = kb.search(topic, top_k=2)
    body = "\n".join(f"- **{r.title}** ({r.score:.0%}): {r.preview}" for r in rows)
    sections.append(f"## {topic.title()}\n\n{body or 'nothing found'}")
report = "# Report\n\n" + "\n\n".join(sections)
print(report)
