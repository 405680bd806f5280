# surface: held
# A value with quotation marks becomes further fields of the JSON that a pack sends.
import json

from winnow.security.tool_packs import call_pack, read_packs, serve, write_pack

VALUE = 'x", "admin": "yes'


def control():
    return json.loads('{"q": "' + VALUE + '"}').get("admin") == "yes"


def _write(url, body):
    write_pack(execution={"kind": "http", "url": url, "body": body}, caps={"network": ["any"]})


def surface():
    with serve({}) as (url, _):
        for body in ('{"q": "{{ input.q }}"}', '{"q": "{{ input.q | trim }}"}', '{"q": {{ input.q }}}'):
            _write(url, body)
            if read_packs()[0]:
                return True
        for kind in ({"cmd": ["cat"], "stdin": '{"q": "{{ input.q }}"}'}, {"cmd": ["echo", '{"q": "{{ input.q }}"}']}):
            write_pack(execution={"kind": "cli", **kind})
            if read_packs()[0]:
                return True
    write_pack(execution={"kind": "cli", "cmd": ["echo", '{"q": {{ input.q | tojson }}}']})
    answer, error = call_pack(VALUE)
    return answer != {"q": VALUE} or bool(error)
