"""Unpacks the URDF models of pybullet_data, and the meshes they name, beside the packages of this interpreter.

The wheel of pybullet is taken for its files alone: which interpreter and which machine it was compiled for does not matter, and nothing of
it is run or compiled. Where no wheel can be had the reason is printed and nothing else happens: the tests that need the models are skipped.

    python tests/imports/bullet_data.py
"""

import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

WHEEL = "pybullet==3.2.7"
# One that exists on the index.
BUILT_FOR = ["--python-version", "3.9", "--platform", "manylinux2014_x86_64", "--only-binary", ":all:", "--no-deps"]
QUIET = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--retries", "1", "--timeout", "15"]
# 103 MB; longer than this [s] is not worth the wait.
PATIENCE = 100
FOLDER = "pybullet_data/"
ENDINGS = (".urdf", ".obj", ".stl", "__init__.py")


def main() -> str:
    """Unpacks the models; says what came of it."""
    place = pathlib.Path(sysconfig.get_paths()["purelib"])
    done = place / FOLDER / "VERSION"
    if done.is_file() and done.read_text() == WHEEL:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", *QUIET, *BUILT_FOR, "--dest", folder, WHEEL]
        try:
            subprocess.run(command, check=True, timeout=PATIENCE, capture_output=True, text=True)
        except subprocess.SubprocessError as cause:
            reason = (getattr(cause, "stderr", "") or str(cause)).strip().splitlines()
            return f"no models of pybullet_data, their tests are skipped: {reason[-1] if reason else cause}"
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith(FOLDER) and name.lower().endswith(ENDINGS)]
            archive.extractall(place, names)
    done.write_text(WHEEL)
    return f"{len(names)} files of {WHEEL} unpacked"


if __name__ == "__main__":
    said = main()
    if said:
        print(said)
