"""What must hold before a version goes out."""

import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from datetime import date

import pytest
import yaml

import anchorot
from tests.requirements import ROOT, require_or_skip

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
faults = runpy.run_path(str(ROOT / ".github/check_release.py"))["faults"]
absolute = runpy.run_path(str(ROOT / ".github/absolute_links.py"))["absolute"]
RELEASED = {"version": "0.9.0", "urls": {"Source": "https://example.org/anchorot"}}


def make_wheel(folder, *names, version="0.9.0"):
    with zipfile.ZipFile(folder / f"anchorot-{version}-cp312-abi3-any.whl", "w") as wheel:
        for name in names:
            wheel.writestr(f"anchorot/{name}", "")


@pytest.mark.parametrize("name", ["_native.abi3.so", "_native.cpython-311-darwin.so", "_native.pyd"])
def test_a_wheel_with_kernels_and_the_version_of_its_tag_may_go_out(tmp_path, name):
    make_wheel(tmp_path, f"_kernels/{name}")
    assert faults(tmp_path, "refs/tags/v0.9.0", RELEASED) == []


def test_a_wheel_without_kernels_may_not_go_out(tmp_path):
    make_wheel(tmp_path, "_kernels/native.py", "_kernels/_native.pyi")
    assert faults(tmp_path, "refs/tags/v0.9.0", RELEASED) == ["anchorot-0.9.0-cp312-abi3-any.whl has no C++ kernels"]


def test_a_tag_of_another_version_may_not_go_out(tmp_path):
    make_wheel(tmp_path, "_kernels/_native.abi3.so")
    assert faults(tmp_path, "refs/tags/v0.9.1", RELEASED) == ["the tag is v0.9.1, but pyproject.toml says 0.9.0"]


def test_files_of_another_version_may_not_go_out(tmp_path):
    make_wheel(tmp_path, "_kernels/_native.abi3.so", version="0.9.0.dev1")
    assert faults(tmp_path, "refs/heads/main", RELEASED) == [
        "anchorot-0.9.0.dev1-cp312-abi3-any.whl is not of version 0.9.0"
    ]


def test_a_release_has_wheels(tmp_path):
    assert faults(tmp_path, "refs/heads/main", RELEASED) == [f"no wheel in {tmp_path}"]


def test_a_tag_needs_the_address_of_the_project(tmp_path):
    make_wheel(tmp_path, "_kernels/_native.abi3.so")
    assert faults(tmp_path, "refs/heads/main", {"version": "0.9.0"}) == []
    [fault] = faults(tmp_path, "refs/tags/v0.9.0", {"version": "0.9.0"})
    assert "no Source in [project.urls]" in fault


def test_links_become_absolute_for_the_package_index_except_those_that_are_or_stay_on_the_page():
    text = "![A](docs/a.png) [b](docs/b.md#c) [d](#d) [e](https://example.org/e) and (f)"
    there = "https://example.org/anchorot"
    expected = f"![A]({there}/raw/v0.9.0/docs/a.png) [b]({there}/blob/v0.9.0/docs/b.md#c) [d](#d) "
    assert absolute(text, f"{there}/", "0.9.0") == expected + "[e](https://example.org/e) and (f)"


@pytest.mark.system
def test_what_every_wheel_must_do_is_done_here():
    require_or_skip(anchorot.config.config()["kernels"].startswith("native"), "the C++ kernels are not built")
    subprocess.run([sys.executable, "-I", ROOT / "tests" / "project" / "use_wheel.py"], check=True)


def test_the_package_and_the_citation_have_the_version_of_the_project():
    version = PROJECT["project"]["version"]
    assert anchorot.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_recipe_for_conda_has_the_version_and_needs_what_the_project_needs():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == PROJECT["project"]["version"]
    needed = {name: recipe["requirements"][name] for name in ("host", "run")}
    assert sorted(needed["run"]) == sorted(["python", *map(spaced, PROJECT["project"]["dependencies"])])
    assert sorted(needed["host"]) == sorted(["python", "pip", *map(spaced, PROJECT["build-system"]["requires"])])
    [command] = recipe["build"]["python"]["entry_points"]
    assert command == " = ".join(*PROJECT["project"]["scripts"].items())


def spaced(requirement):
    """A requirement as conda writes it."""
    return requirement.replace(">=", " >=")


RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] — (\d{4}-\d\d-\d\d)$")


def test_the_newest_release_of_the_changelog_is_this_version_and_dates_do_not_go_back():
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] == "## [Unreleased]"
    releases = [RELEASE.match(heading) for heading in headings[1:]]
    assert all(releases), headings
    versions, dates = [found[1] for found in releases], [date.fromisoformat(found[2]) for found in releases]
    assert versions[0] == PROJECT["project"]["version"]
    assert versions == sorted(versions, key=lambda text: [int(part) for part in text.split(".")], reverse=True)
    assert dates == sorted(dates, reverse=True)
    assert f"\ndate-released: {dates[0]}\n" in (ROOT / "CITATION.cff").read_text()


def test_wherever_wheels_are_made_for_others_the_kernels_are_required():
    wheels = PROJECT["tool"]["cibuildwheel"]
    places = [wheels, *(wheels[platform] for platform in ("linux", "macos", "windows") if platform in wheels)]
    assert all(place.get("environment", wheels["environment"])["ANCHOROT_REQUIRE_NATIVE"] == "1" for place in places)
    fallback = next(one for one in PROJECT["tool"]["scikit-build"]["overrides"] if one["if"].get("failed"))
    assert fallback["if"]["env"] == {"ANCHOROT_REQUIRE_NATIVE": False}
