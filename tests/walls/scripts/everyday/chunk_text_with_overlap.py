def chunks(words, size, overlap):
    if overlap >= size:
        raise ValueError("overlap must be smaller than size")
    for start in range(0, max(len(words) - overlap, 1), size - overlap):
        yield " ".join(words[start : start + size])


text = "one two three four five six seven eight nine ten"
for n, chunk in enumerate(chunks(text.split(), 4, 1)):
    print(n, chunk)
sentences = [s.strip() for s in "A b. C d! E?".replace("!", ".").replace("?", ".").split(".") if s.strip()]
print(sentences, text[:20].rsplit(" ", 1)[0] + "…")
