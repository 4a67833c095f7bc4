"""Faces from video: from a camera's frames to vectors for the learner. Needs the extra `faces`."""
