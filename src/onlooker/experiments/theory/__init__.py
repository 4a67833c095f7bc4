"""Section 3 of the paper: the compact solution and the regret of the online one."""
