# fence: rejected | walls: error
open("/dev/fd/0").close()
print("BREACHED")
