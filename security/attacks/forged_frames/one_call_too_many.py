# fence: rejected | walls: ok | limits: sdk_calls=5
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
import marshal
answered = 0
for _ in range(6):
    say(b'{"call":"search","params":{}}')
    (size,) = struct.unpack(">I", os.read(3, 4))
    answered += "ok" in marshal.loads(os.read(3, size))
print("BREACHED" if answered == 6 else "refused")
