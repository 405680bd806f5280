# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
for _ in range(100):
    say(b'{"out":""}')
say(b'{"out":"BREACHED"}')
