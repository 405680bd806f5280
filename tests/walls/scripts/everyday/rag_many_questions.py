questions = ["retry", "timeouts", "backup encryption"]
pages = search_many(questions, top_k=3, response_mode="preview")
for question, page in zip(questions, pages):
    print(question, "->", page[0].title if page else "nothing", page.error)
print(sum(len(page) for page in pages))
