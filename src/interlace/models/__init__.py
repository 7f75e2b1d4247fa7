"""Backbones: thin modules around transformers' encoders."""
