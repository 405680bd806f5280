# fence: error | walls: -
import uuid
print("BREACHED" if uuid.uuid1().node else "")
