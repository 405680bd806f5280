# fence: rejected | walls: -
import logging
import sys
logging.basicConfig(stream=sys.stdout, format="{message.__class__.__base__.__subclasses__}", style="{")
logging.warning("x")
print("BREACHED" if logging.root.handlers[0].formatter._style else "")
