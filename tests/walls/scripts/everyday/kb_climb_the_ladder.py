# Candidates, then quotes from those that fit, then what stands around each.
import asyncio


async def around(quote):
    excerpt = await kb.expand_excerpt(quote, 10, 10)
    return excerpt.citation.title == quote.title, excerpt.text


async def main():
    candidates = await kb.search("retries and timeouts", top_k=8, max_per_doc=2)
    chosen = [row for row in candidates if row.file.endswith("retry.md")] or candidates[:2]
    quotes = await kb.extract_evidence("how many retries", chosen, max_quotes=3)
    for quote, told in zip(quotes, await asyncio.gather(*map(around, quotes))):
        print(quote.quote, told)
    return [quote.passage_id for quote in quotes]


print(asyncio.run(main()))
