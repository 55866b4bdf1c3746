"""The engines of the posteriors: scalar Gaussian processes in several forms."""
