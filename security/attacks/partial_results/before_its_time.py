# fence: rejected | walls: error
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"error":{"type":"Timeout","message":"m"},"status":"limit","partial":"BREACHED"}')
