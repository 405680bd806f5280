hits = kb.search("retry", top_k=4)
citations, text = {}, []
for hit in hits:
    number = citations.setdefault(hit.file, len(citations) + 1)
    text.append(f"{hit.preview} [{number}]")
print(" ".join(text))
for file, number in citations.items():
    print(f"[{number}] {file}")
answer = {"text": text[0] if text else None, "sources": sorted(citations), "confidence": round(sum(h.score for h in hits) / max(len(hits), 1), 3)}
print(answer)
