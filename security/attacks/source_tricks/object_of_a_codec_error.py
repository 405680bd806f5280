# fence: rejected | walls: -
try:
    b"\xff__self__".decode()
except UnicodeDecodeError as error:
    print("BREACHED" if getattr(print, error.object[1:].decode()) else "")
