"""Building blocks shared by several objectives."""
