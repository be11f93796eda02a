"""Tests and scores of collections of spaces, measures and graphs."""
