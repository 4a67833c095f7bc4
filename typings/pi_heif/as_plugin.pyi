from PIL.ImageFile import ImageFile

class HeifImageFile(ImageFile):
    def _open(self) -> None: ...
