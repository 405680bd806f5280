# fence: rejected | walls: error
import inspect
import json
print("BREACHED" if inspect.getsource(json.dumps) else "")
