"""What the posteriors compute with: scalar Gaussian processes in several forms."""
