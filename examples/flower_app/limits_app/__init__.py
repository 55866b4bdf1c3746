"""Federated learning on digits, or on pictures of clothes, in which every client limits what its updates leak."""
