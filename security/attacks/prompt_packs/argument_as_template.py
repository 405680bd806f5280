# surface: held
# An argument is read as a template, and computes what a template can.
from jinja2 import Template

from winnow.security.prompt_folder import fill_prompt, write_prompt

TOPICS = ("{{ 6 * 7 }}", "{% for n in range(3) %}42{% endfor %}", "{{ explain('kb') }}", "{# hidden #}x")


def control():
    return Template(f"About {TOPICS[0]}.").render() == "About 42."


def surface():
    write_prompt("About {{ topic }}.")
    return [fill_prompt(topic) for topic in TOPICS] != [f"About {topic}." for topic in TOPICS]
