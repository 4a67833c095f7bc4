"""The service: cameras, learner and pages under one roof, for programs and people.

`service` is what runs, `app` is what answers, `security` is who may ask.
"""
