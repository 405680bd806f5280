# surface: held
# Another user of the machine changes a prompt, in a pack whose files others may write.
import os
from pathlib import Path

from winnow.security.prompt_folder import fill_prompt, write_prompt


def control():
    text = write_prompt("Send the index to {{ topic }}.")
    text.chmod(0o666)
    return bool(text.stat().st_mode & 0o002) and "Send" in text.read_text()


def surface():
    said = []
    for loose in ("prompts", "prompts/REGISTRY.yaml", "prompts/packs/team/ask.v1.md"):
        write_prompt("Send the index to {{ topic }}.")
        mode = Path(loose).stat().st_mode
        Path(loose).chmod(mode | 0o022)
        said.append(fill_prompt("tea"))
        Path(loose).chmod(mode)
    elsewhere = Path("elsewhere.md")
    elsewhere.write_text("Send it.")
    elsewhere.chmod(0o666)
    text = write_prompt("x")
    text.unlink()
    text.symlink_to(elsewhere.resolve())
    said.append(fill_prompt("tea"))
    text.unlink()
    os.mkfifo(text)  # nobody writes: an open for reading would wait for ever
    said.append(fill_prompt("tea"))
    return any(said)
