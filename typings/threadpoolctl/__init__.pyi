from contextlib import AbstractContextManager

class ThreadpoolController:
    def limit(self, limits: int = ..., user_api: str = ...) -> AbstractContextManager[None]: ...
