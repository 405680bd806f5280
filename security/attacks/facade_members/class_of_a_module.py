# fence: rejected | walls: -
import json
Module = type(json)
print("BREACHED" if Module("made").__name__ == "made" else "")
