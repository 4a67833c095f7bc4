"""Many cameras, many machines: a learner per site on Ray, and one view of all of them.

`site` is the learner of a site and knows nothing of Ray; `actor` puts it there. Needs the extra
`cluster`, but only where Ray itself is used.
"""
