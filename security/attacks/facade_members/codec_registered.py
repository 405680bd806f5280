# fence: rejected | walls: -
import codecs
codecs.register(lambda name: codecs.CodecInfo(lambda text: (b"BREACHED", 8), None) if name == "evil" else None)
print("x".encode("evil").decode())
