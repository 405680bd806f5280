import asyncio


async def ask(question):
    rows = await kb.search(question, top_k=3)
    return question, [row.title for row in rows]


async def main():
    answers = await asyncio.gather(*(ask(q) for q in ["retry", "backup", "network"]))
    return dict(answers)


answers = await main()
print(answers)
async with MCPClient() as client:
    rows = await client.call_tool("semantic_search", {"query": "backup", "top_k": 2})
print([row.title for row in rows])
