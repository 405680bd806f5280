# fence: ok | walls: -
def walk(x, _getattr_=None, _write_=None, _getiter_=None, /):
    return x.real
def inner(_getattr_=lambda o, n: "BREACHED", /):
    import json
    return json.decoder
try:
    found = inner()
    print("BREACHED" if "module" in str(type(found)) else found)
except AttributeError:
    print(walk(1))
