"""What Ray reads when it is imported: a token, for it listens everywhere, and no statistics."""

import os
import secrets

os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
os.environ |= {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
    "OPENBLAS_NUM_THREADS": "1",
}
