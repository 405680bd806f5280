# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{ "result" :"BREACHED' + b" " * 40_000 + b'"}')
