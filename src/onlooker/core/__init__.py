"""The learner: a quantized similarity graph and the harmonic solution on it.

Needs numpy and scipy only, reads no clock, draws no random number and opens no file except to save
and load.
"""
