"""The code on pages of docs/ runs, and names only what there is."""

import ast
import doctest
import inspect
import re
import shlex
import textwrap
import tomllib
import warnings
from functools import cache

import pytest

import anchorot as ao
from tests.requirements import HAS_RESULTS, ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md")) + sorted((DOCS / "guides").glob("*.md"))
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# The `python` blocks of these pages show what one may write, with names that a reader has.
SKETCHES = (
    "README",
    "alignment",
    "architecture",
    "attributes",
    "clusters",
    "formats",
    "gpu",
    "ground",
    "learning",
    "native",
    "nearest",
    "scale",
    "search_index",
    "sliced",
    "stability",
    "testing",
    "two_samples",
)


def languages_run(page):
    """The languages of the blocks that run: output is compared everywhere, sketches are not executed."""
    return ("pycon",) if page.stem in SKETCHES else ("python", "pycon")


def blocks(page, *languages):
    """The text of a page's blocks of code in these languages, in order, with the lines at which they begin."""
    text = page.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, m.start(3)), m[2], textwrap.dedent(m[3]).rstrip()) for m in BLOCK.finditer(text)]
    return [block for block in found if block[1] in languages]


RUN = [page for page in (ROOT / "README.md", *PAGES) if blocks(page, *languages_run(page))]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, said = {"__name__": "__main__"}, []
    for line, language, code in blocks(page, *languages_run(page)):
        if language == "python":
            exec(compile("\n" * line + code, str(page), "exec"), names)
        else:
            test = doctest.DocTestParser().get_doctest(code + "\n", names, page.stem, str(page), line)
            doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
            names = test.globs
    assert not said, "".join(said)


def test_the_install_page_lists_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    listed = re.findall(r"^\| `(\w+)` \|", (DOCS / "install.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(set(extras) - {"docs", "test"})


def template(node):
    """The text of a string in the source with … for what varies, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) or "…" for part in node.values)
    return None


@cache
def sources():
    return [ast.parse(path.read_text()) for path in sorted((ROOT / "src").rglob("*.py"))]


def explained():
    """The messages that the page of questions explains, as patterns."""
    rows = re.findall(r"^\| (`.+?`) \|", (DOCS / "faq.md").read_text(), re.MULTILINE)
    found = [message for row in rows for message in re.findall(r"`([^`]+)`", row)]
    return {message: ".*".join(re.escape(part.strip()) for part in message.split("…")) for message in found}


def test_messages_explained_in_the_faq_exist():
    texts = "\n".join(text for tree in sources() for node in ast.walk(tree) if (text := template(node)))
    assert not [message for message, pattern in explained().items() if not re.search(pattern, texts)]


def test_every_warning_is_explained_in_the_faq():
    patterns = explained().values()
    unexplained = [text for text in warned() if not any(re.search(pattern, text) for pattern in patterns)]
    assert not unexplained


def warned():
    """All texts of warnings and notes, given in the call or in a variable `text` before it."""
    for tree in sources():
        nodes = list(ast.walk(tree))
        warns = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"]
        notes = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "note"]
        names = [
            node.value for node in nodes if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "text"
        ]
        texts = [call.args[0] for call in warns] + [call.args[1] for call in notes] + (names if warns else [])
        yield from (text for text in map(template, texts) if text and re.search(r"\w", text))


def calls(page):
    """All calls on a page of functions of the package, as (line, function, keywords)."""
    for line, language, code in blocks(page, "python"):
        if language != "python" or "..." in code:
            continue
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Call) and re.fullmatch(r"(ao|aot)(\.\w+)+", name := ast.unparse(node.func)):
                yield line + node.lineno, name, [key.arg for key in node.keywords if key.arg]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_docs_use_existing_api(page):
    import anchorot.torch as aot

    wrong = []
    for line, name, keywords in calls(page):
        try:
            function = eval(name, {"ao": ao, "aot": aot})
            inspect.signature(function).bind_partial(**dict.fromkeys(keywords))
        except (AttributeError, TypeError) as error:
            wrong.append(f"line {line}: {name}: {error}")
    assert not wrong


@pytest.mark.slow
def test_calls_in_the_tables_of_coming_from_run(tmp_path, monkeypatch):
    import anchorot.torch

    monkeypatch.chdir(tmp_path)
    page, names = DOCS / "coming_from.md", {"anchorot": anchorot}
    for _, _, code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), names)
    samples = ["1 1 0 0 0 1 -1", *(f"{k} 3 {k} {k % 3} 0 1 {k - 1}" for k in range(2, 120))]
    (tmp_path / "neuron.swc").write_text("\n".join(samples))
    rows = [line.split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    here = [row[1].strip("`") for row in rows if row[1] != "here"]
    assert len(here) > 30
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ao.InputWarning)
        warnings.simplefilter("ignore", ao.ConvergenceWarning)  # the page's two clouds have little in common
        for call in dict.fromkeys(here):
            eval(call, names)


def commands(page):
    """All command lines of anchorot on a page, as words."""
    for _, _, text in blocks(page, "sh"):
        for line in text.splitlines():
            for part in line.partition(" # ")[0].split("&&"):
                if (words := shlex.split(part)) and words[0] == "anchorot":
                    yield words[1:]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_docs_use_existing_commands_and_options(page):
    import typer.main

    from anchorot.cli import app

    for words in commands(page):
        command = typer.main.get_command(app)
        while words and hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        asked = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert asked <= known | {"--help", "-h"}, words


def test_every_public_name_is_listed_in_the_reference():
    modules = [module for name in dir(ao) if inspect.ismodule(module := getattr(ao, name))]
    for module in (ao, *modules):
        page = (DOCS / "api" / f"{module.__name__.rpartition('.')[2]}.rst").read_text()
        listed = re.findall(r"^   (\w+)$|^\.\. py:data:: (\w+)$", page, re.MULTILINE)
        assert ":members:" in page or sorted(a or b for a, b in listed) == sorted(module.__all__)


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=lambda page: page.name)
def test_links_lead_to_existing_files(page):
    """On GitHub too, where no Sphinx looks after them."""
    links = re.findall(r"\]\(([^()\s#:]+)(?:#[^()\s]*)?\)", page.read_text(encoding="utf-8"))
    lost = [link for link in links if not (page.parent / link).exists()]
    assert not [link for link in lost if HAS_RESULTS or "experiments/results/" not in link]


ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
SOURCES = (ROOT / "src" / "anchorot", ROOT)


def section(title):
    return ARCHITECTURE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def source_named(name):
    """The file that the page on architecture means by a name."""
    return next((folder / name for folder in SOURCES if (folder / name).is_file()), None)


def test_the_architecture_page_names_existing_files_and_functions():
    files = set(re.findall(r"`([\w/]+\.(?:py|cpp|hpp|cu|toml))`", ARCHITECTURE))
    assert sorted(name for name in files if source_named(name) is None) == []
    rows = [re.split(r" \| ", row.strip("| ")) for row in re.findall(r"^\| .+$", section("Where is …?"), re.MULTILINE)]
    places = [(re.findall(r"`([^`]+)`", row[1]), re.match(r"`([\w.]+)`", row[2])) for row in rows[1:]]
    pairs = [(name, found[1]) for names, found in places if found for name in names]
    pairs += re.findall(r"`([\w/]+\.py)` `(\w+)`", ARCHITECTURE)
    lost = [(n, f) for n, f in pairs if not re.search(rf"\b{f.rpartition('.')[2]}\b", source_named(n).read_text())]
    assert len(pairs) > 10
    assert lost == []


def test_layers_on_the_architecture_page_match_the_import_rules():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = section("Layers").split("```")[1].strip().splitlines()
    named = [re.findall(r"\w+", re.split(r"  +|\(", line)[0]) for line in layers]
    assert named == [re.findall(r"\w+", layer) for layer in contract["layers"] if layer != "__main__"]
