# surface: held
# A text includes a file that is outside of its pack, by its name or by links in the pack.
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from winnow.security.prompt_folder import fill_prompt, write_prompt

SECRET = "the-private-words"


def control():
    Path("secret.md").write_text(SECRET)
    return SECRET in Environment(loader=FileSystemLoader(".")).from_string("{% include 'secret.md' %}").render()


def surface():
    Path("secret.md").write_text(SECRET)
    said = []
    for name in ("secret.md", "parts/../../../../secret.md", str(Path("secret.md").resolve()), "../ask.spec.yaml"):
        for statement in (f"{{% include '{name}' %}}", f"{{% import '{name}' as x %}}{{{{ x }}}}"):
            write_prompt(f"{{{{ topic }}}} {statement}")
            said.append(fill_prompt("tea"))
    write_prompt("{{ topic }} {% include topic %}")  # the argument names the file
    said += [fill_prompt("secret.md"), fill_prompt("../../../secret.md")]
    text = write_prompt("{{ topic }} {% include 'parts/secret.md' %}")
    parts = text.parent / "parts"
    parts.symlink_to(Path.cwd())
    said.append(fill_prompt("tea"))
    parts.unlink()
    parts.mkdir()
    (parts / "secret.md").symlink_to(Path("secret.md").resolve())
    said.append(fill_prompt("tea"))
    text.unlink()
    text.symlink_to(Path("secret.md").resolve())
    said.append(fill_prompt("tea"))
    return any(SECRET in text or "Asks one thing" in text for text in said)
