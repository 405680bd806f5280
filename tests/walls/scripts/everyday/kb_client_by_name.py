# The same through a client, with the names and the arguments of the tools.
async with MCPClient("http://ignored.example") as client:
    quotes = await client.call_tool("kb_retrieve_evidence", {"question": "backups kept", "top_k": 5, "max_quotes": 2})
    rows = await client.call_tool("kb.search", {"query": "backups", "top_k": 4, "options": {"max_per_doc": 1}})
    again = await client.extract_evidence("backups kept", rows, max_quotes=2)
    part = await client.kb.read_excerpt(again[0], max_tokens=3)
    print([quote.quote for quote in quotes], [row.title for row in rows])
    print([quote.quote for quote in again], part.text, part.truncated)
