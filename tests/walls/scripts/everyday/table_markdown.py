def table(rows, columns):
    head = "| " + " | ".join(columns) + " |"
    rule = "|" + "|".join(" --- " for _ in columns) + "|"
    body = ["| " + " | ".join(str(r.get(c, "")).replace("|", "\\|") for c in columns) + " |" for r in rows]
    return "\n".join([head, rule, *body])


print(table([{"a": 1, "b": "x|y"}, {"a": 2}], ["a", "b"]))
