import re

WINDOW = 12
for doc in fetch(semantic_search("days", top_k=4).ids):
    for m in re.finditer(r"\bdays\b", doc.content):
        left = doc.content[max(0, m.start() - WINDOW) : m.start()].rjust(WINDOW)
        print(f"{doc.id:>6} …{left}[{m.group()}]{doc.content[m.end() : m.end() + WINDOW]}…")
