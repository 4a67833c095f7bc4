"""Simulated cameras: real faces, morphed and filmed in drawn scenery. Needs the extra `faces`."""
