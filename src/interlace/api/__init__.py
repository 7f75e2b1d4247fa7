"""The Python API, which `import interlace as il` offers lazily."""
