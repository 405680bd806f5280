try:
    semantic_search("x", top_k=1)
except SDKError as error:
    print(error.type, "|", error.message)
try:
    print(kb.search("retry")[0].titel)
except AttributeError as error:
    print(type(error).__name__, "did you mean" in str(error))
row = kb.search("retry")[0]
print(row.get("missing", "-"), "title" in row, sorted(row)[:3], {**row}["title"], dict(row) == row)
