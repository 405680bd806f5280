import struct

flags = {"read": 1, "write": 2, "exec": 4}
mode = flags["read"] | flags["exec"]
print([n for n, f in flags.items() if mode & f], mode ^ 1, ~mode & 7, bin(mode).count("1"), mode.bit_length(), 1 << 10, f"{mode:03b}")
data = bytearray(b"\x00\x01\x02\xff")
data[0] = 65; data += b"z"; data.reverse()
print(bytes(data), data.hex(" "), list(data), data.find(b"\xff"), data[1:3], sum(data) & 0xFF)
packed = struct.pack(">HBs", 513, 7, b"x")
print(packed, struct.unpack(">HBs", packed), int.from_bytes(packed[:2], "little"), b"a,b".split(b","), b"%d-%s" % (5, b"x"), b"ab".translate(bytes.maketrans(b"a", b"z")))
crc = 0
for byte in b"hello":
    crc = (crc >> 1) ^ (0xA001 if (crc ^ byte) & 1 else 0)
print(crc, "ü".encode() == b"\xc3\xbc", b"\xc3".decode(errors="replace"), "a\u0301".encode("ascii", "xmlcharrefreplace"))
