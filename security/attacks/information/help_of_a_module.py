# fence: rejected | walls: -
import io
import json
import pydoc
print("BREACHED" if "NAME" in pydoc.plain(pydoc.render_doc(json)) else "")
