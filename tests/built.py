"""The site, built as it is published, and a server for it."""

import contextlib
import functools
import http.server
import os
import re
import subprocess
import sys
import threading

from checks import DOCS, ROOT

SITE = "https://example.org/gradients/"
# The theme would ask the host of a repository for numbers on every page.
REPOSITORY = "https://github.com/tensorflow/tensorflow"
ARCHIVED = "from-tf-gradients-to-gradienttape"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that does not log each request."""

    def log_message(self, *_):
        """Say nothing."""


@contextlib.contextmanager
def served(directory, handler=Quiet):
    """Serve a folder on a free port of this machine, and yield its address."""
    handler = functools.partial(handler, directory=directory)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def address_built(source):
    """Return the address of a page below that of the site."""
    return re.sub(r"(^|/)index\.md$|\.\w+$", "/", str(source.relative_to(DOCS))).lstrip("/")


def build(site, config="", **variables):
    """Build the site with these addresses and no others, and return its folder."""
    # One day for all builds: else what is built after midnight has another one in its sitemap.
    day = {"SOURCE_DATE_EPOCH": "1767225600"}
    env = {**os.environ, **day, "SITE_URL": "", "REPO_URL": "", **variables}
    env = {name: value for name, value in env.items() if value}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", f"--site-dir={site}"]
    done = subprocess.run(
        [*command, "--config-file=-"] if config else command,
        cwd=ROOT,
        env=env,
        input=config,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"The site does not build:\n{done.stderr}"
    return site


def build_archived(scratch):
    """Build the site that is packed into an archive, which stands beside its folder then."""
    variables = {"REPO_URL": REPOSITORY, "EXECUTED": str(scratch), "OFFLINE": "true"}
    return build(scratch / ARCHIVED, **variables)


def build_published(scratch):
    """Build the site and its archive below `scratch`, as `nox -s docs` does."""
    variables = {"REPO_URL": REPOSITORY, "EXECUTED": str(scratch), "SITE_URL": SITE}
    return build(scratch / "gradients", ARCHIVE=f"{build_archived(scratch)}.zip", **variables)
