# surface: held
# A pack from somebody else reaches the server's process through attributes of what a template is given.
from jinja2 import Template

from winnow.security.prompt_folder import fill_prompt, write_prompt

REACH = ".__init__.__globals__['sys'].executable"
BODIES = (
    "{{ explain.__globals__ }}",
    "{{ topic.__class__.__mro__[1].__subclasses__() }}",
    "{{ (topic|attr('__class__')) }}",
    "{{ self" + REACH + " }}",
    "{{ cycler" + REACH + " }}",
    "{{ '{0.__class__}'.format(topic) }}",
    "{% set f = topic.format %}{{ f.__self__.__class__ }}",
)


def control():
    return "python" in Template("{{ cycler.__init__.__globals__.os.sys.executable }}").render()


def surface():
    reached = []
    for body in BODIES:
        write_prompt(f"{{{{ topic }}}} {body}")
        reached.append(fill_prompt("tea"))
    return any("<class" in text or "__" in text or "python" in text for text in reached)
