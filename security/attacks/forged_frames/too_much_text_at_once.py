# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"out":"BREACHED' + b" " * 5_000 + b'"}')
