text = """
[server]
host = localhost
port = 8080
debug = yes   ; comment

[paths]
data = /tmp/x
"""
config, section = {}, None
for line in text.splitlines():
    line = line.split(";")[0].strip()
    match line:
        case "":
            continue
        case str() if line.startswith("[") and line.endswith("]"):
            section = config.setdefault(line[1:-1], {})
        case _:
            key, value = (p.strip() for p in line.split("=", 1))
            section[key] = int(value) if value.isdigit() else {"yes": True, "no": False}.get(value, value)
print(config)
