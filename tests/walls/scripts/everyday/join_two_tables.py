users = [{"id": 1, "n": "bo"}, {"id": 2, "n": "al"}, {"id": 3, "n": "cy"}]
orders = [{"user": 1, "t": 5.0}, {"user": 1, "t": 2.5}, {"user": 3, "t": 1.0}, {"user": 9, "t": 7}]
by_id = {u["id"]: u for u in users}
inner = [{**by_id[o["user"]], "total": o["t"]} for o in orders if o["user"] in by_id]
left = {u["n"]: sum(o["t"] for o in orders if o["user"] == u["id"]) for u in users}
missing = [o for o in orders if o["user"] not in by_id]
print(inner, left, missing, sep="\n")
