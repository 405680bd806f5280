text = """---
title: The Guide
tags: [a, b, c]
draft: false
---
# Body

Text here."""
_, head, body = text.split("---", 2)
meta = {}
for line in head.strip().splitlines():
    key, _, value = line.partition(":")
    value = value.strip()
    if value.startswith("["):
        value = [v.strip() for v in value.strip("[]").split(",")]
    elif value in ("true", "false"):
        value = value == "true"
    meta[key.strip()] = value
print(meta, body.strip().splitlines()[0])
