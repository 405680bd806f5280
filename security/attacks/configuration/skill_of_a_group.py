# surface: held
# A member of the user's group writes a skill into the operator's folder.
from pathlib import Path

SKILL = 'def answer():\n    """Answer."""\n    return 42\n'


def place():
    folder = Path("skills")
    folder.mkdir()
    (folder / "one.py").write_text(SKILL)
    (folder / "one.py").chmod(0o664)
    return folder


def control():
    names = {}
    exec((place() / "one.py").read_text(), names)
    return names["answer"]() == 42


def surface():
    from winnow.server.tools.scripts.skills import load_skills

    return "answer" in load_skills([place()]).skills
