"""What pyproject.toml cannot say: packages are found, not listed, and the build writes the script of all macros."""

import subprocess
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildWithScript(build_py):
    """Writes `sqlpriv.sql`, which any DuckDB client runs, into the wheel, by the code that was just put there."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            code = "from sqlpriv.macros.catalog import script; open('{0}', 'wb').write(script().encode())"
            make = [sys.executable, "-B", "-c", code.format("sqlpriv/sqlpriv.sql")]
            subprocess.run(make, cwd=self.build_lib, check=True)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        made = [] if self.editable_mode else [str(Path(self.build_lib, "sqlpriv", "sqlpriv.sql"))]
        return [*super().get_outputs(include_bytecode), *made]


setup(
    packages=[*find_packages(include=["sqlpriv", "sqlpriv.*"]), "sqlpriv.sql", "sqlpriv.udfs"],
    cmdclass={"build_py": BuildWithScript},
)
