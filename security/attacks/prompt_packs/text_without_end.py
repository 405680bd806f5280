# surface: held
# A text of a few characters fills the memory of the server, or a model's context, when it is filled in.
import resource
from pathlib import Path

from jinja2 import Template

from winnow.security.prompt_folder import fill_prompt, write_prompt

LOOPS = "{% for a in topic %}" * 6 + "{{ topic }}" + "{% endfor %}" * 6
BODIES = (
    LOOPS,
    "{{ topic }}{% for n in range(100000) %}{{ topic }}{% endfor %}",
    "{% include 'parts/own.md' %}",
    "{% include 'parts/0.md' %}",
    "{{ topic * 99999999 }}",
    "{{ '%999999999s' % topic }}",
    "{{ '{:>999999999}'.format(topic) }}",
    "{{ topic|center(999999999) }}",
    "{% set all = namespace(x=topic) %}{% for n in range(60) %}{% set all.x = all.x ~ all.x %}{% endfor %}{{ all.x }}",
)


def control():
    return len(Template("{{ topic * 1000000 }}").render(topic="tea")) == 3_000_000


def surface():
    # More than that is an error, and an error counts as a breach.
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    sizes = []
    parts = Path("prompts", "packs", "team", "parts")
    parts.mkdir(parents=True)
    for number in range(40):  # twice each: 2**40 texts
        twice = f"{{% include 'parts/{number + 1}.md' %}}" * 2
        (parts / f"{number}.md").write_text(twice if number < 39 else "")
    (parts / "own.md").write_text("{{ topic }}{% include 'parts/own.md' %}")
    for body in BODIES:
        write_prompt(body)
        sizes.append(len(fill_prompt("tea" * 20)))
    return max(sizes) > 40_000
