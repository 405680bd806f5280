import ast
import base64
import binascii
import copy
import hashlib
import html
import struct
import types
import urllib.parse
import uuid
import zlib
from urllib.parse import parse_qs, quote, quote_plus, unquote, urlencode, urljoin, urlparse, urlsplit, urlunparse

print(hashlib.sha256(b"abc").hexdigest(), hashlib.md5(b"").hexdigest(), hashlib.new("sha1", b"x").digest_size, hashlib.blake2b(b"a", digest_size=4).hexdigest())
h = hashlib.sha1(); h.update(b"a"); h2 = h.copy(); h.update(b"b"); print(h.hexdigest()[:8], h2.hexdigest()[:8], h.name, h.block_size)
print(base64.b64encode(b"hi?>"), base64.urlsafe_b64encode(b"hi?>"), base64.b64decode("aGk="), base64.b32encode(b"a"), base64.b16decode("6162"), binascii.hexlify(b"az"), zlib.crc32(b"a"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "a.org"), uuid.UUID("12345678123456781234567812345678").hex, uuid.UUID(int=5).version, len(str(uuid.uuid4())), uuid.uuid4() != uuid.uuid4())
print(html.escape("<a href='x'>&"), html.unescape("&lt;&eacute;&#39;"), quote("a b/ü"), quote_plus("a b&c"), unquote("a%20b"), urlencode({"q": "a b", "n": [1, 2]}, doseq=True), urljoin("http://a/b/c", "../d"), parse_qs("a=1&a=2&b="))
u = urlparse("https://user@host:8080/p/a;x?q=1#frag"); print(u, u.hostname, u.port, u._replace(query="z=2").geturl(), urlsplit("//h/p").netloc, urlunparse(("http", "h", "/p", "", "", "")), urllib.parse.quote("é"))
print(ast.literal_eval("{'a': [1, (2, None)], 'b': {1.5}, 'c': -3}"), struct.unpack("<IH", struct.pack("<IH", 1, 2)), struct.calcsize(">d"))
for bad in (lambda: ast.literal_eval("f()"), lambda: ast.literal_eval("1 +"), lambda: base64.b64decode("a"), lambda: uuid.UUID("x"), lambda: struct.unpack("I", b""), lambda: bytes.fromhex("zz"), lambda: hashlib.new("nope")):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, str(error).split(":")[0])
original = {"a": [1, {2}]}; shallow, deep = copy.copy(original), copy.deepcopy(original); original["a"][0] = 9; print(shallow, deep)


class Node:
    def __init__(self, v):
        self.v, self.kids = v, []

    def __deepcopy__(self, memo):
        n = Node(self.v + 100); n.kids = copy.deepcopy(self.kids, memo); return n


n = Node(1); n.kids.append(Node(2)); m = copy.deepcopy(n); print(m.v, m.kids[0].v, copy.copy(n).kids is n.kids)
ns = types.SimpleNamespace(a=1, b="x"); ns.c = [2]; print(ns, ns.a, vars(ns), ns == types.SimpleNamespace(a=1, b="x", c=[2])); del ns.a; print(hasattr(ns, "a"))
print(types.MappingProxyType({"a": 1})["a"])
