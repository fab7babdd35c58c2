"""Check that wheel and source archive hold what the tree holds: nothing lost, nothing extra.

The wheel holds one file besides: sqlpriv.sql, the script of all macros, as the code of the tree makes it.

Usage: python .ci/check_wheel.py DIST
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from sqlpriv.macros.catalog import script

ROOT = Path(__file__).resolve().parent.parent
PLACE_IN_WHEEL = {"sqlpriv": "sqlpriv", "sql": "sqlpriv/sql", "udfs": "sqlpriv/udfs"}


def files_of_tree() -> list[str]:
    """The files git knows or would add, so that it also works before the first commit."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    listed = subprocess.run(
        [*command, *PLACE_IN_WHEEL],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    return sorted({name for name in listed if name and (ROOT / name).is_file()})


def files_of_wheel(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
        return {name: wheel.read(name) for name in names}


def files_of_archive(path: Path) -> dict[str, bytes]:
    """The files of the packages, by their path in the tree."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            content = archive.extractfile(member)
            if content is not None and name.partition("/")[0] in PLACE_IN_WHEEL:
                found[name] = content.read()
    return found


def differences(expected: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    return [
        *(f"lacks {name}" for name in sorted(expected.keys() - found.keys())),
        *(f"should not hold {name}" for name in sorted(found.keys() - expected.keys())),
        *(f"holds another {name}" for name in sorted(expected.keys() & found.keys()) if expected[name] != found[name]),
    ]


def the_only(dist: Path, pattern: str) -> Path:
    matches = list(dist.glob(pattern))
    if len(matches) != 1:
        sys.exit(f"{dist} should hold exactly one {pattern}, not {len(matches)}")
    return matches[0]


def main() -> None:
    dist = Path(sys.argv[1])
    tree = {name: (ROOT / name).read_bytes() for name in files_of_tree()}
    in_wheel = {}
    for name, content in tree.items():
        folder, _, rest = name.partition("/")
        in_wheel[f"{PLACE_IN_WHEEL[folder]}/{rest}"] = content
    in_wheel["sqlpriv/sqlpriv.sql"] = script().encode()
    wheel, archive = the_only(dist, "*.whl"), the_only(dist, "*.tar.gz")
    problems = [
        *(f"{wheel.name} {problem}" for problem in differences(in_wheel, files_of_wheel(wheel))),
        *(f"{archive.name} {problem}" for problem in differences(tree, files_of_archive(archive))),
    ]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{wheel.name} and {archive.name} hold the {len(tree)} files of the tree and the script, and no other")


if __name__ == "__main__":
    main()
