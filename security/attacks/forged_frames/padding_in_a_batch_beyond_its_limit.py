# fence: rejected | walls: limit | limits: sdk_calls=5
import os, struct
body = b'{"call":"search","params":{},"each":[' + b",".join([b'{"k":' + b" " * 1_000 + b"1}"] * 50) + b"]}"
for _ in range(40):
    os.write(3, struct.pack(">I", len(body)) + body)
    os.read(3, 65_536)
print("BREACHED")
