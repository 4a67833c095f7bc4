"""The web service: the REST interface, the live streams and the page of one home.

`service` is what runs, `app` answers requests, `auth` decides which are permitted.
"""
