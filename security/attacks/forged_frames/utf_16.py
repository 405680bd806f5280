# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say('{"result":"BREACHED"}'.encode("utf-16"))
