from typing import Any

class Bunch:
    data: Any
    target: Any

def load_digits() -> Bunch: ...
