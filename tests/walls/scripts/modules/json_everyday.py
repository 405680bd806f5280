import json

data = {"b": [1, 2.5, None, True, "ü\n"], "a": {"nested": {"x": []}}}
print(json.dumps(data, sort_keys=True), json.dumps(data, ensure_ascii=False), json.dumps(data, separators=(",", ":")))
print(json.dumps(data, indent=2, sort_keys=True))
print(json.loads('{"x": [1, 2, {"y": null}], "n": 1e3, "s": "\\u00e9"}'), json.loads("[]"), json.loads(b'"x"'))
print(json.dumps({1: "a", None: 2, True: 3, 2.5: 4}), json.dumps((1, 2)), json.dumps(float("inf")), json.loads("NaN") != 0)
for bad in ("", "{", "{'a': 1}", "[1,]", '{"a" 1}', "nope"):
    try:
        json.loads(bad)
    except json.JSONDecodeError as error:
        print(error, "|", error.lineno, error.colno, error.pos, error.msg)
try:
    json.dumps({"a": {1, 2}})
except TypeError as error:
    print(error)


class Encoder(json.JSONEncoder):
    def default(self, o):
        return sorted(o) if isinstance(o, set) else super().default(o)


print(json.dumps({"a": {2, 1}}, cls=Encoder), json.dumps({1, 2}, default=list), json.loads('{"a": 1}', object_hook=lambda d: sorted(d.items())))
print(json.loads("[1.5, 2]", parse_float=str, parse_int=lambda s: int(s) * 10), json.loads('{"a": 1, "a": 2}', object_pairs_hook=list))
print(json.JSONDecoder().raw_decode('{"a": 1} tail'))
