# fence: rejected | walls: crashed
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
say(b'{"call":"kb.read_excerpt","params":{"passage_id":"0123456789"},"session":"BREACHED"}')
