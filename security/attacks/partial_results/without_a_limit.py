# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"error":{"type":"E","message":"m"},"status":"error","partial":"BREACHED"}')
