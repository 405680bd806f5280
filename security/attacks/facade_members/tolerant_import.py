# fence: rejected | walls: -
try:
    from json import __dict__ as members, __class__ as kind
    print("BREACHED" if "dumps" in members else kind)
except ImportError:
    pass
