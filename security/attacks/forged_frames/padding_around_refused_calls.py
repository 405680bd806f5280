# fence: rejected | walls: limit | limits: sdk_calls=5
import os, struct
body = b'{"call":"search","params":{}}' + b" " * 60_000
for _ in range(100):
    os.write(3, struct.pack(">I", len(body)) + body)
    os.read(3, 65_536)
print("BREACHED")
