# fence: rejected | walls: crashed
import os, struct
text = "".join(f"\\u{ord(letter):04x}" for letter in "BREACHED" * 100)
body = f'{{"out":"{text}"}}'.encode()
os.write(3, struct.pack(">I", len(body)) + body)
