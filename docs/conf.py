"""How Sphinx makes the site of this folder: `nox -s docs`."""

import os
import re
import urllib.request
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
    "sphinx.ext.intersphinx",
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

LIBRARIES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "ot": "https://pythonot.github.io/",
}


def is_reachable(address):
    """Whether the list of names of another site can be read; without a network there are no links to it."""
    try:
        with urllib.request.urlopen(f"{address}objects.inv", timeout=3) as response:
            return response.status == 200
    except OSError:
        return False


intersphinx_mapping = {name: (address, None) for name, address in LIBRARIES.items() if is_reachable(address)}

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

# The order of the gallery: from a first comparison to what needs more thought.
GALLERY = [
    "first_comparison",
    "what_is_compared",
    "shape_map",
    "which_is_which",
    "energy_and_gromov_wasserstein",
    "ranks",
    "neurons",
    "boiling_points",
    "molecules",
    "surfaces",
    "missing_part",
    "networks",
    "node_roles",
    "embeddings",
    "two_assays",
    "tissue",
    "patients",
    "graph_generators",
    "noise_of_a_draw",
    "pipeline",
    "search",
    "barycenter",
    "gradients",
    "checkpoint",
    "what_it_cannot_see",
]


class ByDifficulty:
    """Sorts examples as GALLERY lists them; others come last."""

    def __init__(self, folder):
        pass

    def __call__(self, name):
        """Return the place of a file."""
        stem = name.removeprefix("plot_").removesuffix(".py")
        return (GALLERY.index(stem) if stem in GALLERY else len(GALLERY), stem)


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
    "within_subsection_order": ByDifficulty,
    "copyfile_regex": r".*\.(csv|npz|json)",
}

html_theme = "pydata_sphinx_theme"
html_title = "anchorot"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_search_scorer = str(HERE / "search_scorer.js")
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
    "benchmarks/RESULTS.md": "measurements.md",
    "experiments/results/RESULTS.md": "reproduced.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CITATION.cff": "citing.md",
}
ROOT = HERE.parent
SUBPACKAGES = [name for name in dir(anchorot) if isinstance(getattr(anchorot, name), ModuleType)]
NAMES = {
    *anchorot.__all__,
    *(f"{package}.{name}" for package in SUBPACKAGES for name in getattr(anchorot, package).__all__),
}
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


CALLED = re.compile(rf"(?:(?:ao|anchorot)\.)?((?:(?:{'|'.join(SUBPACKAGES)})\.)?\w+)(?:\(.*\))?")


def show_figure_first(app, name, source):
    """Put the first figure of an example of the gallery in front of its code."""
    figure = f"sphx_glr_{name.rpartition('/')[2]}_001.png"
    if name.startswith("auto_gallery/plot_") and (HERE / "auto_gallery" / "images" / figure).exists():
        head, mark, code = source[0].partition(".. code-block::")
        lead, comment, rest = head.rpartition(".. GENERATED FROM")
        picture = f".. image:: /auto_gallery/images/{figure}\n   :alt: The first figure of this example\n\n"
        source[0] = f"{lead}{picture}{comment}{rest}{mark}{code}"


PROJECTS = {
    "POT": "https://pythonot.github.io",
    "OTT": "https://ott-jax.readthedocs.io",
    "ott": "https://ott-jax.readthedocs.io",
    "CAJAL": "https://github.com/CamaraLab/CAJAL",
    "pyFM": "https://github.com/RobinMagnet/pyFM",
    "squidpy": "https://squidpy.readthedocs.io",
}
NAMED = re.compile(rf"(?<![\w.-])({'|'.join(PROJECTS)})(?![\w-])")


def link_projects(app, doctree):
    """Have the first mention of another project on a page lead to its site.

    The home page is left out: its cards are links already.
    """
    if app.env.docname == app.config.root_doc:
        return
    linked = {node["refuri"].rstrip("/") for node in doctree.findall(nodes.reference) if "refuri" in node}
    for text in list(doctree.findall(nodes.Text)):
        around = text.parent
        if not is_inside(around, nodes.paragraph) or is_inside(around, nodes.reference, nodes.literal, pending_xref):
            continue
        parts = NAMED.split(text)  # names are at the odd places
        for place in range(1, len(parts), 2):
            address = PROJECTS[parts[place]]
            if address not in linked:
                linked.add(address)
                parts[place] = nodes.reference("", parts[place], refuri=address, internal=False)
        if any(isinstance(part, nodes.reference) for part in parts):
            around.replace(text, [part if isinstance(part, nodes.reference) else nodes.Text(part) for part in parts])


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
    app.connect("source-read", show_figure_first)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", link_projects)
