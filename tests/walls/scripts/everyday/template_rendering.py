import re
from string import Template

TEMPLATE = """Dear {{ name }},
{% for item in items %}- {{ item }}
{% endfor %}Bye"""


def render(template, context):
    def loop(m):
        variable, source, body = m.groups()
        return "".join(render(body, {**context, variable: value}) for value in context[source])

    template = re.sub(r"{% for (\w+) in (\w+) %}(.*?){% endfor %}", loop, template, flags=re.S)
    return re.sub(r"{{ (\w+) }}", lambda m: str(context[m[1]]), template)


print(render(TEMPLATE, {"name": "Bo", "items": [1, "two"]}))
print(Template("${a}-$b").safe_substitute(a=1), "{a[0]} {b.real}".format(a=[9], b=4), "%(x)5.1f" % {"x": 2})
