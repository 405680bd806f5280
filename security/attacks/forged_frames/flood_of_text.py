# fence: rejected | walls: limit | limits: stdout_total_bytes=65536
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
for _ in range(100):
    say(b'{"out":"' + b"x" * 4_000 + b'"}')
say(b'{"out":"BREACHED"}')
