# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"error":{"type":"OutputLimit","message":"m"},"status":"limit","partial":"BREACHED' + b'x' * 150_000 + b'"}')
