# fence: rejected | walls: ok | limits: sdk_calls=5
import os, struct
def say(body):
    os.write(3, struct.pack(">I", len(body)) + body)
import marshal
say(b'{"call":"search","params":{},"each":[{},{},{},{},{},{}]}')
(size,) = struct.unpack(">I", os.read(3, 4))
answered = sum("ok" in marshal.loads(reply) for reply in marshal.loads(os.read(3, size)))
print("BREACHED" if answered == 6 else "refused")
