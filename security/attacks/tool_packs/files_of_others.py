# surface: held
# Another user writes a file of a pack, or a link leads to one, so that the server runs it.
import os
import shutil
from pathlib import Path

from winnow.security.tool_packs import FOLDER, read_packs, write_pack

PACK = FOLDER / "attacked.tool.yaml"


def control():
    # What a server does that opens each file that it finds.
    write_pack()
    PACK.chmod(0o666)
    return PACK.read_text().startswith("{")


def surface():
    offered = 0
    for harm in (_open_pack, _open_script, _open_folder, _link_pack, _link_script, _link_folder, _pipe):
        shutil.rmtree(FOLDER, ignore_errors=True)
        write_pack("print(1)")
        if read_packs()[0] != 1:
            raise RuntimeError("the pack is not offered as it is")
        harm()
        offered += read_packs()[0]
    return offered > 0


def _open_pack():
    PACK.chmod(0o666)


def _open_script():
    (FOLDER / "tool.py").chmod(0o777)


def _open_folder():
    FOLDER.chmod(0o777)


def _link_pack():
    Path("elsewhere.yaml").write_text(PACK.read_text())
    PACK.unlink()
    PACK.symlink_to(Path("elsewhere.yaml").absolute())


def _link_script():
    Path("elsewhere.py").write_text("print(1)")
    (FOLDER / "tool.py").unlink()
    (FOLDER / "tool.py").symlink_to(Path("elsewhere.py").absolute())


def _link_folder():
    shutil.copytree(FOLDER, "elsewhere", dirs_exist_ok=True)
    PACK.unlink()
    (FOLDER / "linked").symlink_to(Path("elsewhere").absolute())


def _pipe():
    PACK.unlink()
    os.mkfifo(PACK)
