# surface: held
# A schema or its YAML grows without bound when it is read, or a value takes for ever to be checked.
import json
import re

import yaml

from winnow.security.tool_packs import FOLDER, call_pack, read_packs, write_pack

DOUBLING = {
    "$defs": {**{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}, "a40": {}},
    "type": "object",
    "properties": {"q": {"$ref": "#/$defs/a0"}},
}
ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 20))
SCHEMAS = (
    DOUBLING,
    {"type": "object", "properties": {"q": {"$ref": "#"}}},
    {"type": "object", "properties": {"q": {"type": "string", "pattern": r"(a+)+\1$"}}},
    {"type": "object", "properties": {"q": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    {"type": "object", "properties": {"q": {"$ref": "file:///etc/hostname"}}},
)


def control():
    return len(json.dumps(yaml.safe_load(ALIASES))) > 1_000_000 and bool(re.compile(r"(a+)+\1$"))


def surface():
    for schema in SCHEMAS:
        write_pack(inputSchema=schema)
        if read_packs()[0]:
            return True
    write_pack()
    head = "id: a\nversion: 1.0.0\ndescription: d\nexecution: {kind: python, script: ./tool.py}\noutputSchema: {}\n"
    for text in (
        head + "inputSchema: &s {type: object, properties: {q: *s}}\n",
        head + "inputSchema:\n  type: object\n  enum:\n    " + ALIASES.replace("\n", "\n    ").replace("a0:", "- ", 1),
        head + "inputSchema: {type: object, default: " + "[" * 5_000 + "]" * 5_000 + "}\n",
        "a: " * 10_000,
        head + "inputSchema: {type: object, minimum: " + "9" * 20_000 + "}\n",
    ):
        (FOLDER / "attacked.tool.yaml").write_text(text)
        if read_packs()[0]:
            return True
    # A pattern that backtracks elsewhere is run in linear time here.
    write_pack("print(1)", inputSchema={"type": "object", "properties": {"q": {"type": "string", "pattern": "^(a+)+$"}}})
    return "does not match the pattern" not in call_pack("a" * 5_000 + "b")[1]
