# fence: rejected | walls: -
import json
text = "{0.dumps.__globals__[codecs]}".format(json)
print("BREACHED" if "module" in text else text)
