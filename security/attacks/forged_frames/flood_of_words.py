# fence: rejected | walls: limit
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
for _ in range(3_000):
    say(b'{"call":"progress","params":{"message":"on my way"}}')
    os.read(3, 65_536)
print("BREACHED")
