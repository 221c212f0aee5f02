"""Whether the conda recipe can be rendered, and names what pyproject.toml names. Needs py-rattler-build.

    python scripts/packaging/check_recipe.py

Nothing is built: that needs the packages of conda-forge.
"""

import re
import tomllib
from pathlib import Path

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

HERE = Path(__file__).resolve().parent
RECIPE = HERE / "conda" / "recipe.yaml"
VARIANTS = 'c_compiler: [gcc]\nc_compiler_version: ["14"]\nc_stdlib: [sysroot]\nc_stdlib_version: ["2.34"]\npython: ["3.11"]\n'


def plain(requirement):
    """A requirement without spaces."""
    return re.sub(r"\s", "", str(requirement))


def main():
    project = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text())["project"]
    (variant,) = Stage0Recipe.from_file(RECIPE).render(
        VariantConfig.from_yaml(VARIANTS), RenderConfig(PlatformConfig(target_platform="linux-64"))
    )
    recipe = variant.recipe.to_dict()
    assert recipe["package"]["version"] == project["version"], recipe["package"]
    run = {plain(each) for each in recipe["requirements"]["run"]}
    expected = {*project["dependencies"], f"python{project['requires-python']}"}
    assert run == expected, f"run: {sorted(run)}, but pyproject.toml has {sorted(expected)}"
    for name in recipe["about"]["license_file"]:
        assert (HERE.parent.parent / name).exists(), name
    print(f"check_recipe: rendered {recipe['package']['name']} {recipe['package']['version']} for {variant.variant}")


if __name__ == "__main__":
    main()
