"""Tests of automatic program repair: what is applied, what is left alone, what is taken back."""
