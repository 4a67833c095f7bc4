"""As far as Onlooker uses psutil, which comes without annotations."""

class _MemoryInfo:
    rss: int

class _DiskUsage:
    free: int

class Process:
    def __init__(self, pid: int | None = None) -> None: ...
    def memory_info(self) -> _MemoryInfo: ...

def disk_usage(path: str) -> _DiskUsage: ...
