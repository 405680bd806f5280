# fence: rejected | walls: -
f = "{0.__init_" + "subclass__.__self__}"
print("BREACHED" if "class" in f.format(object) else "")
