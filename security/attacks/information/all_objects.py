# fence: rejected | walls: -
import gc
print("BREACHED" if gc.get_objects() else "")
