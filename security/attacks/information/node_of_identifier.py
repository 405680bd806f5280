# fence: error | walls: -
import uuid
print("BREACHED" if uuid.getnode() else "")
