# fence: rejected | walls: limit
import os, struct
body = b'{"call":"progress","params":{"message":"on my way","more":[' + b"0," * 30_000 + b"0]}}"
for _ in range(200):
    os.write(3, struct.pack(">I", len(body)) + body)
    os.read(3, 65_536)
print("BREACHED")
