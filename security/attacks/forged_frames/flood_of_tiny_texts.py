# fence: rejected | walls: limit | limits: stdout_total_bytes=65536
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
for _ in range(6_000):
    say(b'{"out":"x"}')
say(b'{"out":"BREACHED"}')
