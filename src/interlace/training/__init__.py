"""Training: one loop for pre-training and fine-tuning, a generator whose consumers do everything else."""
