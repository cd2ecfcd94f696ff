"""Tests of the command line: each verb with good, bad and hostile input."""
