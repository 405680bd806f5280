# fence: rejected | walls: crashed | limits: request_bytes=4096
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"call":"search","params":{"query":"BREACHED' + b" " * 65_000 + b'"}}')
