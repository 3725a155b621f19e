"""Images of cells: files inside the folder of the data, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from corral.studio.data import Data
from corral.studio.images import MOST_BYTES, Images
from corral.studio.questions import image_of, names_images

PNG = b"\x89PNG\r\n\x1a\n and more"


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.png").write_bytes(PNG)
    (folder / "sub" / "b.png").write_bytes(PNG)
    (folder / "text.png").write_text("not an image")
    (folder / "notes.txt").write_text("secret")
    (folder / "drawing.svg").write_text("<svg onload='alert(1)'/>")
    (tmp_path / "outside.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "inner.png").symlink_to(folder / "a.png")
    (folder / "loop.png").symlink_to(folder / "loop.png")
    with (folder / "large.png").open("wb") as file:
        file.write(PNG)
        file.truncate(MOST_BYTES + 1)
    return Images(folder)


@pytest.mark.parametrize("cell", ["a.png", " sub/b.png ", "sub/../a.png", "inner.png"])
def test_files_inside_the_folder_are_read(images, cell):
    assert images.fault(cell) == ""
    assert images.read(cell) == ("image/png", PNG)
    assert images.read(str(images.folder / "a.png")) == ("image/png", PNG)


@pytest.mark.parametrize(
    "cell",
    [
        *("../outside.png", "link.png", "loop.png", "/etc/passwd", "sub", "absent.png", ""),
        *("notes.txt", "drawing.svg", "large.png", "a.png\0", "~/a.png", "sub/../../outside.png"),
        *("http://example.org/a.png", "file:///etc/passwd"),
    ],
)
def test_nothing_else_is_read_and_the_message_names_a_remedy(images, cell):
    assert images.read(cell) is None
    fault = images.fault(cell)
    assert any(word in fault for word in ("--images", "must be one of", "only files", "at most"))


def test_what_is_only_called_an_image_is_not_sent(images):
    assert images.read("text.png") is None


def test_only_cells_of_columns_of_images_lead_to_files(images):
    cells = [np.array(texts, object) for texts in (["a.png", "sub/b.png"], ["a.png is red", "x"])]
    columns = {"image": cells[0], "text": cells[1], "x": np.zeros(2)}
    data = Data("data", np.zeros((2, 1)), ("x",), columns, images=images)
    assert [name for name in columns if names_images(data, name)] == ["image"]
    assert image_of(data, 1, 0) == ("image/png", PNG)
    for row, column in ((0, 1), (0, 2), (0, 3), (2, 0)):
        assert image_of(data, row, column) is None
