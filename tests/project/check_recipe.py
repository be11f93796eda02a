"""Have rattler-build read the recipe for conda and render it for supported Pythons; `nox -s recipe` runs it."""

from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

RECIPE = Path(__file__).parents[2] / "conda" / "recipe.yaml"
PYTHONS = ["3.11.* *_cpython", "3.12.* *_cpython", "3.13.* *_cp313"]
CONDA_FORGE = {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"], "cxx_compiler": ["gxx"], "python": PYTHONS}


def main() -> None:
    """Print what would be built, one line per variant."""
    variants = Stage0Recipe.from_file(RECIPE).render(VariantConfig(CONDA_FORGE))
    assert len(variants) == len(PYTHONS), f"got {len(variants)} variants, expected one per Python"
    for variant in variants:
        package = variant.recipe.package
        print(f"{package.name} {package.version}", variant.variant)


if __name__ == "__main__":
    main()
