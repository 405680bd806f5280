page = semantic_search("guide", top_k=4)
collected = list(page.ids)
while page.next_cursor:
    page = semantic_search("guide", top_k=4, cursor=page.next_cursor)
    collected += page.ids
print(len(collected), collected == list(dict.fromkeys(collected)))
