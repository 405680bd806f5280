name = "World"
lines = []
lines.append(f"Hello, {name}!")
lines.extend(["=" * len(lines[0]), ""])
for i in range(1, 4):
    lines.append(f"{i:>2}. {'*' * i:<5}|")
text = "\n".join(lines)
print(text)
print(text.count("\n"), text.upper().split("\n")[0], "".join(ch if ch.isalnum() else "_" for ch in text)[:12], text[::-1][:5])
camel = "".join(p.title() for p in "some_long_name".split("_"))
snake = "".join("_" + c.lower() if c.isupper() else c for c in camel).lstrip("_")
print(camel, snake, "-".join("a b  c".split()), "slug-" + "".join(c for c in "Ünïcode & more!".lower() if c.isalnum() or c == " ").replace(" ", "-"))
