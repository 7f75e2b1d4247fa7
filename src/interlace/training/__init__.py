"""Training: one loop for pre-training and fine-tuning; consumers of its steps log, evaluate and save checkpoints."""
