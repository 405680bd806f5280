# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"error":{"type":"OutputLimit","message":"m"},"status":"limit","partial":1,"usage":"BREACHED"}')
