# fence: error | walls: -
try:
    import urllib.request
    from urllib import request
    print("BREACHED" if request.socket else "")
except ImportError as error:
    raise ValueError("held") from error
