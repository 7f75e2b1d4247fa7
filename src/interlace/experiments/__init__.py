"""Experiments: recipes and studies as data, and the steps that run them: prepare, pretrain, evaluate, translate."""
