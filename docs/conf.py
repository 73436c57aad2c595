"""The documentation site: the pages of this folder, the Python reference from the docstrings, links to the Rust reference."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "carom"
author = "the carom authors"
version = release = next(line.split('"')[1] for line in (ROOT / "Cargo.toml").read_text().splitlines() if line.startswith("version ="))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["pictures"]
html_theme = "furo"
html_title = f"carom {version}"
html_static_path: list = []
# The pages stand on their own: no page asks another server for anything but formulas.
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
# Tables of the scene format carry marks in comments; code of other pages is shown as it is.
suppress_warnings = ["misc.highlighting_failure"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = ["torch", "jax", "gymnasium", "rerun", "ray"]
# Return types and defaults that are no names of this package are shown, not linked.
nitpicky = False
