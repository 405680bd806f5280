# fence: rejected | walls: limit | limits: sdk_calls=5
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
for _ in range(3_000):
    say(b'{"call":"search","params":{}}')
    os.read(3, 65_536)
print("BREACHED")
