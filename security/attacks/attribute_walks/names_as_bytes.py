# fence: rejected | walls: -
name = bytes([95, 95, 115, 101, 108, 102, 95, 95]).decode()
print("BREACHED" if getattr(print, name) else "")
