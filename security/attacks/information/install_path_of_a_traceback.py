# fence: ok | walls: -
import json
import traceback
try:
    json.loads("{")
except ValueError:
    print("BREACHED" if "json/decoder.py" in traceback.format_exc() else "")
