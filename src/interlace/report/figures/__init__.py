"""Figures: curves over steps, dots, scatter plots, shaded tables, alignment matrices and maps of words; one a file."""
