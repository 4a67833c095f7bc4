"""Datasets on disk: pictures with a manifest, simulated or recorded, and their faces."""
