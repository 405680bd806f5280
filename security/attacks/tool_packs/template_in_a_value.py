# surface: held
# A value is written as a template, which reads the environment or calls code when it is filled in.
import os

import jinja2

from winnow.security.tool_packs import call_pack, read_packs, write_pack

VALUES = ("{{ 7 * 7 }}", "{{ env.SECRET }}", "{% for x in input %}{{ x }}{% endfor %}", "{{ input.__class__ }}", "${7*7}")
TEMPLATES = ("{{ input.__class__.__mro__ }}", "{{ env.SECRET }}", "{{ lipsum.__globals__ }}", "{{ input.q * 9 }}")


def control():
    return jinja2.Environment().from_string(VALUES[0]).render() == "49"


def surface():
    os.environ["SECRET"] = "harbour"
    write_pack(execution={"kind": "cli", "cmd": ["echo", '{"q": {{ input.q | tojson }}}']})
    if any(call_pack(value) != ({"q": value}, "") for value in VALUES):
        return True
    for template in TEMPLATES:
        write_pack(execution={"kind": "cli", "cmd": ["echo", template]})
        if read_packs()[0] and "harbour" in str(call_pack("x")):
            return True
    return False
