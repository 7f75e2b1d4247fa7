"""Our objectives inside transformers' and sentence-transformers' own training and evaluation."""
