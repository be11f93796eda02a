"""Tests where images come in clusters, one cluster a patient."""
