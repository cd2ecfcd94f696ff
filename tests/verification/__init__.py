"""Tests of verification: planted faults, and programs in which there are none."""
