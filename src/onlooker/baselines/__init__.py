"""Rivals of the learner, with its verbs, so that one loop serves all."""
