"""How Sphinx makes the site of this folder: `nox -s docs`."""

import os
import re
import warnings
from pathlib import Path
from types import ModuleType

from docutils import nodes
from sphinx.addnodes import pending_xref

import anchorot

HERE = Path(__file__).parent

project = "anchorot"
author = "The anchorot authors"
copyright = author
version = release = anchorot.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # after the one above: it puts MathJax into the site
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.typer",
]
exclude_patterns = ["gallery/*", "**/sg_execution_times.rst"]
if "datasets" not in dir(anchorot):
    exclude_patterns.append("api/datasets.rst")
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # of the gallery's settings, which hold functions

# Single backquotes in docstrings: a link where the name has a page, and a literal elsewhere.
nitpicky = True
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*"), ("py:.*", r"(numpy|scipy|sklearn|torch)\..*")]  # sites elsewhere

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "none"  # numpydoc's sections say them in words
autosummary_generate = True
autosummary_imported_members = False
# where letters of both cases are one, these would be one file
autosummary_filename_map = {"anchorot.barycenter": "anchorot.barycenter-function"}
numpydoc_show_class_members = False
numpydoc_use_plots = False
warnings.filterwarnings("ignore", "builtin type .* has no __module__ attribute", DeprecationWarning)

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "doc_module": ("anchorot",),
    "backreferences_dir": "api/backreferences",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "capture_repr": ("_repr_html_",),
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 5,
    "thumbnail_size": (400, 280),
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r".*\.(csv|npz|json)",
}

html_theme = "pydata_sphinx_theme"
html_title = "anchorot"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "anchorot"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_sidebars = {"index": [], "command_line": []}  # nothing stands beside them

# Files outside of this folder that pages show: a link to one leads to its page.
SHOWN = {
    "benchmarks/RESULTS.md": "benchmarks.md",
    "experiments/results/RESULTS.md": "reproduced.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CITATION.cff": "citing.md",
}
ROOT = HERE.parent
ROOMS = [name for name in dir(anchorot) if isinstance(getattr(anchorot, name), ModuleType)]
NAMES = {*anchorot.__all__, *(f"{room}.{name}" for room in ROOMS for name in getattr(anchorot, room).__all__)}
INCLUDED = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<path>[^()\s#:]+)(?P<anchor>#[^()\s]*)?\)")


def lead_into_site(app, name, source):
    """Show files of the repository where pages include them; have links, which are right there, lead to pages."""
    page = HERE / f"{name}.md"
    if page.is_file():
        text = INCLUDED.sub(lambda found: shown(HERE / found[1], page), source[0])
        source[0] = relinked(text, page.parent, page.parent)


def shown(file, page):
    """Return a file's text as a part of the page: without its title, anchors in MyST's words."""
    text = relinked(file.resolve().read_text(encoding="utf-8"), file.resolve().parent, page.parent)
    return re.sub(r'^<a id="(\w+)"></a>$', r"(\1)=", text.partition("\n")[2], flags=re.MULTILINE)


def relinked(text, folder, here):
    """Turn links that are right in `folder` into links that are right on a page in `here`."""

    def lead(found):
        target = (folder / found["path"]).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return found[0]
        inside = target.relative_to(ROOT).as_posix()
        target = HERE / SHOWN[inside] if inside in SHOWN else target
        if (target.suffix == ".md" and not target.is_relative_to(HERE)) or target.is_dir():
            return found["text"][1:-1]  # it has no page
        return f"{found['text']}({Path(os.path.relpath(target, here)).as_posix()}{found['anchor'] or ''})"

    return LINK.sub(lead, text)


CALLED = re.compile(rf"(?:(?:ao|anchorot)\.)?((?:(?:{'|'.join(ROOMS)})\.)?\w+)(?:\(.*\))?")


def is_inside(node, *kinds):
    """Whether any of the nodes around this one is of these kinds."""
    return node is not None and (isinstance(node, kinds) or is_inside(node.parent, *kinds))


def link_names(app, doctree):
    """Have public names lead to their pages where Markdown has them in code: `anchor_energy`, `ao.pairwise(...)`."""
    if not (HERE / f"{app.env.docname}.md").is_file():
        return
    for literal in list(doctree.findall(nodes.literal)):
        called = CALLED.fullmatch(literal.astext())
        if called and called[1] in NAMES and not is_inside(literal, nodes.reference, nodes.title, pending_xref):
            target = f"anchorot.{called[1]}"
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refdoc=app.env.docname)
            literal.replace_self(link)
            link += literal


def setup(app):
    """Register what this file adds."""
    app.connect("source-read", lead_into_site)
    app.connect("doctree-read", link_names)
