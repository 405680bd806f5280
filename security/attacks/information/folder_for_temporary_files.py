# fence: rejected | walls: error
import tempfile
print("BREACHED" if tempfile.gettempdir() else "")
