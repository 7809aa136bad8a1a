"""The wheel brings what it links: it runs where neither libelf nor zlib is to be had."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import queuewright

LIBS = Path(queuewright.__file__).parent.parent / "queuewright.libs"
# Without a repaired wheel there is nothing to be asked: sources are used with the system's libraries.
pytestmark = pytest.mark.skipif(not LIBS.is_dir(), reason="installed from no wheel that scripts/wheel made")

RUN = """
import queuewright as qw
home = qw.Scenario(link={"rate": "10mbit"}, flows=[{"cca": "cubic", "rtt": "20ms"}])
assert len(qw.run(home, aqm="codel", duration="1s").runs) == 1
maps = open("/proc/self/maps").read()
print(sorted({line.split("/")[-1] for line in maps.splitlines() if "libelf" in line or "libz" in line}))
"""


def needed(library: Path) -> list[str]:
    """The libraries that one asks for."""
    shown = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", shown)


def test_it_asks_for_the_c_library_alone() -> None:
    native = next(Path(queuewright.__file__).parent.glob("_native*.so"))
    brought = {path.name for path in LIBS.iterdir()}
    asked = {name for path in [native, *LIBS.iterdir()] for name in needed(path)} - brought
    c_library = r"(libc|libm|libdl|libpthread|librt)\.so\.\d|ld-linux.*|libgcc_s\.so\.1"
    assert not [name for name in asked if not re.fullmatch(c_library, name)]
    assert any(name.startswith("libelf") for name in brought)


def test_it_runs_without_the_systems_libelf() -> None:
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    hidden = [line.split("=> ")[1] for line in found.splitlines() if "libelf.so.1 " in line]
    # What Python itself is linked with cannot be hidden from it.
    interpreter = subprocess.run(["ldd", sys.executable], capture_output=True, text=True).stdout
    if "libz.so" not in interpreter:
        hidden += [line.split("=> ")[1] for line in found.splitlines() if "libz.so.1 " in line]
    mounts = " && ".join(f"mount --bind /dev/null {path}" for path in hidden)
    inside = ["unshare", "--mount", "--map-root-user", "sh", "-c", f'{mounts or "true"} && exec "$0" -c "$1"']
    ran = subprocess.run([*inside, sys.executable, RUN], capture_output=True, text=True, cwd="/")
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no mount namespace: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    assert "libelf.so.1" not in ran.stdout
    assert "libelf-" in ran.stdout
