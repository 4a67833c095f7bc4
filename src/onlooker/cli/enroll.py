"""`onlooker enroll` and `enroll-folder`: teach names from pictures and videos."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from onlooker.cli.homes import (
    NewHomeOption,
    StateOption,
    open_or_create,
    teach_new,
    teach_once,
)
from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    PeopleOption,
    ProviderOption,
    TrustRadiusOption,
    VerticesOption,
)
from onlooker.cli.output import print_left_out, print_problem, print_problems, print_row
from onlooker.cli.recognizers import (
    existing_folder,
    faces_in_files,
    faces_in_folder,
    finder_from,
    new_learner,
)
from onlooker.cli.settings import load_settings
from onlooker.core.checks import as_name
from onlooker.core.errors import BadValue, LabelConflict, OnlookerError
from onlooker.recognition.enrolment import Enrolment, EnrolmentFace, people_in_library
from onlooker.recognition.pipeline import deferred_signals

EnrolledName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Who is in the files.", show_default=False)
]
FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Pictures with one face each, videos of one person.",
        show_default=False,
    ),
]
TRAIN = "train"
"""The folder in which Frigate stores faces that nobody has sorted yet."""
FolderArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="A folder for each person: FOLDER/NAME/*.jpg.", show_default=False
    ),
]
LeaveOutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out", metavar="NAME", help="A folder that is nobody's; may be repeated. [train]"
    ),
]
MostOption = Annotated[
    int, typer.Option("--most", min=1, help="Faces of each person at most: those that differ most.")
]


def enroll(
    name: EnrolledName = None,
    files: FilesArgument = None,
    people: PeopleOption = None,
    home: NewHomeOption = None,
    state: StateOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    trust_radius: TrustRadiusOption = None,
    detector: DetectorOption = None,
) -> None:
    """Teach names from pictures and videos: one person's, or everybody's in a folder.

    Of a video, up to four faces are taught that differ. A face that has the name already is not
    taught again. Nothing is taught if one file cannot be used.

    Example: onlooker enroll ana ana1.jpg ana2.jpg --home home/

    Example: onlooker enroll ana ana.mp4 --home home/

    Example: onlooker enroll --people people/ --home home/
    """
    if name is not None and people is not None:
        raise typer.BadParameter("give a NAME with its FILEs or --people DIR, not both")
    if name is not None:
        name = as_name(name)
    if name is not None and not files:
        raise typer.BadParameter(f"which files show {name}? Give them after the name")
    chosen = load_settings(
        people=people,
        home=home,
        state=state,
        features=features,
        model=model,
        provider=provider,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        trust_radius=trust_radius,
        detector=detector,
    )
    if chosen["home"] is None:
        raise typer.BadParameter(
            "where to store the names? Give --home DIR; `onlooker export` writes a file of it"
        )
    if name is None and chosen["people"] is None:
        raise typer.BadParameter("whom to enroll? Give a NAME and FILEs, or --people DIR")
    finder = finder_from(chosen)
    with Console(stderr=True).status("looking for faces"):  # silent unless it is a terminal
        if name is None:
            faces = faces_in_folder(chosen, finder)
        else:
            faces = faces_in_files(chosen, finder, {name: files or []})
    with deferred_signals(), open_or_create(chosen, finder) as found:
        taught = teach_new(found, faces)
        labeled = found.vertices().names
        print_problems(found.problems)
    for person, count in taught.items():
        print_row(name=person, taught=count, labeled=labeled.count(person))


def enroll_folder(
    folder: FolderArgument,
    home: NewHomeOption = None,
    leave_out: LeaveOutOption = None,
    most: MostOption = 20,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    trust_radius: TrustRadiusOption = None,
) -> None:
    """Teach the people of a photo library, as Frigate and immich lay it out.

    Every folder is a person, with photos of one face each, at any depth; `train`, where Frigate
    stores faces that nobody has sorted, is left out. Photos that cannot be used are told one by one
    and left out. All others are taught in one step. Run again, it teaches what is new; whoever was
    forgotten, renamed or corrected since stays so.

    Example: onlooker enroll-folder /media/frigate/clips/faces --home home/
    """
    chosen = load_settings(
        home=home, features=features, model=model, provider=provider, trust_radius=trust_radius
    )
    if chosen["home"] is None:
        raise typer.BadParameter("where to store the names? Give --home DIR")
    library = existing_folder(folder, "a folder for each person")
    people = people_in_library(library, leave_out or [TRAIN])
    finder = finder_from(chosen)
    scratch = new_learner(chosen, finder)  # in which one face cannot have two names
    enrolment = Enrolment(finder.for_photos(), scratch.kernel)
    found: dict[str, list[EnrolmentFace]] = {name: [] for name in people}
    files = [(name, file) for name, some in people.items() for file in some]
    console = Console(stderr=True)
    quiet = not console.is_terminal
    for name, file in track(files, "looking for faces", console=console, disable=quiet):
        try:
            (face,) = enrolment.faces(file)
            scratch.teach(face.vector, name)
        except LabelConflict:
            print_problem(f"{file} is the same picture as one of another person; leave one out")
        except OnlookerError as error:
            print_problem(error)
        else:
            found[name].append(face)
    usable = {name: enrolment.different(some, most) for name, some in found.items() if some}
    if not usable:
        raise BadValue(f"none of {len(files)} photos in {folder} can be used; nothing was taught")
    with deferred_signals(), open_or_create(chosen, finder) as opened:
        before = opened.vertices().names
        print_left_out(teach_once(opened, usable))
        after = opened.vertices().names
        print_problems(opened.problems)
    for name, some in people.items():
        print_row(
            name=name,
            photos=len(some),
            bad=len(some) - len(found[name]),
            taught=after.count(name) - before.count(name),
            labeled=after.count(name),
        )
