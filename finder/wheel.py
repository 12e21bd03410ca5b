"""Make what the wheel holds: the finder and the prover, each in its one file."""

import os
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent.parent
FILES = {"find_gradients.py": "finder", "prove_gradients.py": "prover"}


class OneFileEach(BuildHookInterface):
    """Writes the files of which the wheel is made."""

    def initialize(self, version, build_data):
        """Write them to a folder of their own, and name them to the builder."""
        if sys.version_info < (3, 11):
            sys.exit("This needs Python 3.11. An older one runs the file that the site offers.")
        sys.path.insert(0, str(ROOT))
        from finder.bundle import bundle

        self.scratch = tempfile.TemporaryDirectory()
        for name, room in FILES.items():
            file = Path(self.scratch.name, name)
            file.write_text(bundle(os.environ.get("SITE_URL", ""), ROOT / room), "utf-8")
            build_data["force_include"][str(file)] = name

    def finalize(self, version, build_data, artifact_path):
        """Delete the folder."""
        self.scratch.cleanup()
