# fence: rejected | walls: -
formats = ["{0.__class__.__base__}", "{0.__class__.__subclasses__}"]
text = max(formats, key=len).format(object)
print("BREACHED" if "subclasses" in text else text)
