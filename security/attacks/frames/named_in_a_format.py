# fence: rejected | walls: -
text = "{0.gi_frame}".format(1 for _ in ())
print("BREACHED" if "frame at" in text else text)
