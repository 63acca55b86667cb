"""Measures Pinbox against floors that anyone can reproduce. See bench/README.md."""
