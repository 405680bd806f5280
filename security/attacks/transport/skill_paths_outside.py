# surface: held | seconds: 300
# The address of an agent skill's file leads to a file of the machine, or to one of another folder of the server.
from pathlib import Path
from urllib.parse import unquote

from winnow.security.loopback_servers import call_method, make_store, serve_product

SECRET = "the words of a secret file"
UP = "../" * 12
PATHS = (
    f"winnow-playbook/{UP}{{0}}", f"{UP}{{0}}", "{0}", "winnow-playbook/references/../../../recipes.md",
    "winnow-playbook/%2e%2e/%2e%2e/{0}", "winnow-playbook//{0}", "winnow-playbook/SKILL.md/../../../playbook.md",
    "winnow-playbook/SKILL.md\0{0}", "..\\..\\playbook.md", "winnow-playbook/./SKILL.md", "WINNOW-PLAYBOOK/SKILL.md",
)  # fmt: skip


def reads(answer):
    """Whether an address of these gives a text."""
    secret = Path("secret.txt")
    secret.write_text(SECRET)
    return [path for path in PATHS if answer(path.format(str(secret.absolute()).lstrip("/")))]


def control():
    skills = Path("a/b/c/d/skills").absolute()
    skills.mkdir(parents=True)

    def answer(path):
        file = Path(f"{skills}/{unquote(path)}".partition("\0")[0].replace("winnow-playbook/", "", 1))
        return file.is_file() and SECRET in file.read_text()

    return reads(answer) != []


def surface():
    make_store()
    with serve_product() as port:

        def read(method, path):
            return call_method(port, method, {"uri": f"skill://{path}"})[0]

        assert "contents" in read("resources/read", "winnow-playbook/SKILL.md")["result"]
        assert "skill" in read("skills/get", "winnow-playbook/SKILL.md")["result"]
        return reads(
            lambda path: any("result" in read(method, path) for method in ("resources/read", "skills/get"))
        ) != []
