"""Recipe files: where they are, what they extend, and changes to what they say."""

from __future__ import annotations

from pathlib import Path

from interlace.core.store import ConfigStore, change, merged

__all__ = ["RECIPES", "change", "find_recipe", "merged", "read", "shipped_recipes"]

RECIPES = ConfigStore("recipe", Path(__file__).parent / "recipes", whole=("objectives", "published", "changes"))
shipped_recipes, find_recipe, read = RECIPES.names, RECIPES.find, RECIPES.read
