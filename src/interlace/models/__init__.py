"""Models: backbones around transformers' encoders, encoder-decoders, generation and export."""
