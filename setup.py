"""Gives the package its description, README.md, whose links and pictures lead to the repository, and its extensions.

All else is in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
_LINK = re.compile(
    r"(?P<code>^```.*?^```$|`[^`\n]+`)"  # what reads like a link in code, `window[60 on ts as m](r)`, is none
    r"|(?P<picture>!?)(?P<text>\[(?:!\[[^\]]*\]\([^)]*\)|[^\]!])*\])\((?P<path>(?!\w+:|#)[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def absolute(markdown: str, repository: str) -> str:
    """Returns a text whose links to files are links to the repository, and whose pictures are shown from there."""

    def led(link: re.Match[str]) -> str:
        if link["code"] is not None:
            return link[0]
        kind = "raw" if link["picture"] else "blob"
        text = _LINK.sub(led, link["text"])
        return f"{link['picture']}{text}({repository}/{kind}/main/{link['path']})"

    return _LINK.sub(led, markdown)


if __name__ == "__main__":
    from setuptools import Extension, setup  # which Python has not since 3.12

    sources = ["formats/jsonl/alike.c", "topics/batches.c"]
    extensions = [
        Extension(
            f"cedilla.runtime.connectors.{folder.replace('/', '.')}._{file.removesuffix('.c')}",
            [f"runtime/connectors/{folder}/{file}"],
            py_limited_api=True,
            optional=True,  # without a compiler slower code does the same
        )
        for folder, _, file in (source.rpartition("/") for source in sources)
    ]
    readme = (HERE / "README.md").read_text("utf-8")
    setup(
        long_description=absolute(readme, PROJECT["urls"]["Repository"]),
        long_description_content_type="text/markdown",
        ext_modules=extensions,
        options={"bdist_wheel": {"py_limited_api": "cp311"}},
    )
