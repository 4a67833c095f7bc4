"""Many cameras on many machines: one learner per site on Ray, and one merged view of all sites.

`site.py` has no Ray in it; `ray_site.py` runs a site as an actor. Needs the extra `cluster`.
"""
