import re
import statistics
from collections import Counter

text = """It was the best of times, it was the worst of times. It was the age of wisdom!
Was it the age of foolishness? It was, indeed."""
words = re.findall(r"[a-z']+", text.lower())
sentences = [s for s in re.split(r"(?<=[.!?])\s+", text) if s]
lengths = [len(w) for w in words]
print(len(words), len(set(words)), len(sentences), Counter(words).most_common(4), f"{statistics.mean(lengths):.3f}", statistics.mode(lengths))
print(Counter(zip(words, words[1:])).most_common(2), max(sentences, key=len), sum(c.isupper() for c in text), sorted({w for w in words if len(w) > 5}))
print({letter: count for letter, count in sorted(Counter("".join(words)).items()) if count > 8}, "".join(w[0] for w in words[:5]))
