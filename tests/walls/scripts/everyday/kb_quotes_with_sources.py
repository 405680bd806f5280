# Answers from quotes, each source once.
questions = ["how long are backups kept", "how many retries are there", "x"]
for question in questions:
    try:
        quotes = kb.retrieve_evidence(question, max_quotes=4)
    except SDKError as error:
        print(question, "->", error.type)
        continue
    sources = {}
    for row in quotes["quotes"]:
        sources.setdefault(row.title, []).append(row.quote)
    for title, said in sorted(sources.items()):
        print(f"{question}: {' '.join(said)} [{title}]")
    print(len(quotes), quotes.next_cursor, quotes.partial, sorted({row.confidence for row in quotes}))
