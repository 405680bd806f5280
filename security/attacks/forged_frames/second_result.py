# fence: rejected | walls: ok
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"result":"first"}')
say(b'{"result":"BREACHED"}')
