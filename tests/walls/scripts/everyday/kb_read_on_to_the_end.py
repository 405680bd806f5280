# Reads passages in portions until nothing is left, and compares with the whole document.
for row in kb.search("guide", top_k=3):
    part = kb.read_excerpt(row.id, max_tokens=5)
    text = part.excerpt
    portions = 1
    while part.truncated:
        part = kb.read_excerpt(part, 5, start_char=part.next_start_char)
        text += part["excerpt"]
        portions += 1
    whole = fetch(row)[0].content
    print(portions, text == whole, part.get("next_start_char"), part.title)

try:
    kb.read_excerpt("nothing of this name")
except SDKError as error:
    print(error.type, error.message)
