# fence: rejected | walls: crashed
import os, struct
body = b'{"out":"BREACHED' + b" " * 5_000_000 + b'"}'
data = struct.pack(">I", len(body)) + body
while data:
    data = data[os.write(3, data):]
