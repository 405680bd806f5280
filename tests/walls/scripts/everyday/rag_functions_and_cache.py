from functools import lru_cache


@lru_cache(maxsize=None)
def ask(question, top_k=3):
    return tuple((row.id, row.title) for row in kb.search(question, top_k=top_k))


def first_word(question):
    return question.split()[0].lower()


questions = ["retry limits", "Retry limits", "backup keys", "retry limits"]
for question in questions:
    print(first_word(question), [i for i, _ in ask(question)])
print(ask.cache_info().hits, ask.cache_info().misses)
