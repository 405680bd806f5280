# fence: rejected | walls: crashed
import os, struct
body = b'{"out":"x"}' + b" " * 130_000
for _ in range(200):
    os.write(3, struct.pack(">I", len(body)) + body)
print("BREACHED")
