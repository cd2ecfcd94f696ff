"""Tests of ExportDB: every case is what it says."""
