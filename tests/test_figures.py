"""Pictures, and the figures that a reader can play with."""

import re

import numpy as np
import pytest

from checks import SNIPPETS, relative
from checks.snippets import read
from pages.page import Page
from tests.built import address_built
from tests.visits import assert_accessible

DRAWN = [
    page.file
    for page in Page.every()
    if page.pictures or {"plot", "heat"} & {marker.word for marker in page.markers}
]
WEIGH, STEPS = "explanation/output-gradients/", "start/two-models/"


def numbers_in(text):
    """Return the numbers in `text`."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d*)?", text)]


def printed_behind(name, label):
    """Return the numbers that an example prints behind `label`."""
    return numbers_in(
        re.search(rf"^{re.escape(label)}:(.*)", read(SNIPPETS / name).output, re.M)[1]
    )


def test_text_of_pictures_has_one_size(visit, base_url):
    """It is the same in all, and large enough for a phone."""
    sizes = {390: set(), 1440: set()}
    for source in DRAWN:
        visit.page.goto(f"{base_url}/{address_built(source)}")
        for width, found in sizes.items():
            visit.page.set_viewport_size({"width": width, "height": 900})
            found |= set(
                visit.page.eval_on_selector_all(
                    "figure svg text",
                    "texts => texts.map((text) => (parseFloat(getComputedStyle(text).fontSize) *"
                    " text.getScreenCTM().a).toFixed(1))",
                )
            )
    for width, least in ((390, 11), (1440, 16)):
        [size] = sizes[width]
        assert float(size) >= least


@pytest.mark.parametrize("source", DRAWN, ids=relative)
def test_text_stays_inside_the_picture(source, visit, base_url):
    """No label is cut off or covers another, whatever font the machine has."""
    visit.page.goto(f"{base_url}/{address_built(source)}")
    visit.page.evaluate("document.fonts.ready.then(() => {})")
    wrong = visit.page.eval_on_selector_all(
        "figure svg",
        """pictures => pictures.flatMap((picture) => {
          const texts = [...picture.querySelectorAll("text")].map((text) => text.getBBox());
          const outside = texts.filter((t) => t.x < 0 || t.x + t.width > 640 || t.y < 0
            || t.y + t.height > picture.viewBox.baseVal.height);
          const over = texts.filter((t) => texts.some((u) => t !== u && t.x < u.x + u.width
            && u.x < t.x + t.width && t.y + 6 < u.y + u.height && u.y + 6 < t.y + t.height));
          return [...outside, ...over].map((t) => [t.x, t.y, t.width, t.height]);
        })""",
    )
    assert not wrong, f"{relative(source)}: text leaves a picture, or covers other text: {wrong}"


def test_brackets_of_a_matrix_are_as_tall_as_it_is(page, base_url):
    """The math font is loaded from the site, only when a formula comes near, and stretches."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{base_url}/tape/watch/", wait_until="networkidle")
    assert not page.locator("math").count()
    assert not [url for url in asked if url.endswith("math.woff2")]
    with page.expect_response(f"{base_url}/assets/math.woff2"):
        page.goto(f"{base_url}/{WEIGH}", wait_until="networkidle")
        page.locator("math mtable").nth(1).scroll_into_view_if_needed()
    page.wait_for_function("document.fonts.status === 'loaded'")
    assert page.evaluate("document.fonts.check('16px \"STIX Two Math\"')")
    rows = page.locator("math mtable").nth(1).bounding_box()["height"]
    bracket = page.locator("math mrow:has(> mtable) > mo").nth(2).bounding_box()["height"]
    assert rows <= bracket <= 1.15 * rows


def test_weights_move_the_sum(page, base_url):
    """The figure says what the example prints, and for other numbers what NumPy computes."""
    page.goto(f"{base_url}/{WEIGH}", wait_until="networkidle")
    figure = page.locator(".weigh")
    names = ("weight z1", "weight z2", "weight z3", "x1", "x2")
    fields = [figure.get_by_label(name, exact=True) for name in names]

    def shown():
        J, g = (numbers_in(" ".join(figure.locator(c).all_text_contents())) for c in (".j", ".g"))
        return np.reshape(J, (3, 2)), g

    v, x = np.split([float(field.input_value()) for field in fields], [3])
    example = read(SNIPPETS / "explanation/output-gradients/tape.md").code
    assert list(v) == numbers_in(re.search(r"v = .*\[(.*)\]", example)[1])
    assert list(x) == numbers_in(re.search(r"x1, x2 = (.*)", example)[1])
    J, g = shown()
    assert J.tolist() == [
        printed_behind("explanation/output-gradients/by_hand.md", f"z{i}") for i in (1, 2, 3)
    ]
    assert g == [
        printed_behind("explanation/output-gradients/tape.md", f"by x{j}")[0] for j in (1, 2)
    ]

    v, x = np.array([-2, 0.5, 7]), np.array([1.5, -4])
    fields[0].focus()
    for number in (*v, *x):  # with the keyboard alone
        page.keyboard.press("Control+a")
        page.keyboard.type(str(number))
        page.keyboard.press("Tab")
    J, g = shown()
    assert J.tolist() == [[x[1], x[0]], [1, 4], [0, 2 * x[1]]]
    assert np.allclose(g, v @ J)
    ends = np.cumsum(np.vstack([[0, 0], v[:, None] * J]), axis=0)
    paths = [numbers_in(path.get_attribute("d")) for path in figure.locator(".row").all()]
    drawn = np.array([paths[0][:2], *(path[2:] for path in paths)])
    assert np.corrcoef(drawn[:, 0], ends[:, 0])[0, 1] > 0.9999
    assert np.corrcoef(drawn[:, 1], ends[:, 1])[0, 1] < -0.9999  # screens count downwards
    assert numbers_in(figure.locator(".sum").get_attribute("d")) == [*drawn[0], *drawn[-1]]
    said = figure.get_by_role("status")
    assert said.inner_text() == f"by x1: {g[0]:g}, by x2: {g[1]:g}"
    assert said.inner_text() in figure.locator("desc").text_content()
    fields[0].fill("")  # while a reader types
    assert "NaN" not in figure.inner_text()
    assert_accessible(page, ".weigh")


def test_tape_is_stepped_through(page, base_url):
    """Each step shows its sentence and what has happened by then, forward and back."""
    page.goto(f"{base_url}/{STEPS}", wait_until="networkidle")
    figure = page.locator(".steps")
    items, parts = figure.locator("li"), figure.locator("[data-step]")
    last = items.count()
    steps = [int(part.get_attribute("data-step")) for part in parts.all()]
    assert sorted(set(steps)) == list(range(1, last + 1))

    def seen():
        drawn = parts.evaluate_all("parts => parts.map((p) => getComputedStyle(p).visibility)")
        return (
            [place for place in range(1, last + 1) if items.nth(place - 1).is_visible()],
            [step for step, state in zip(steps, drawn, strict=True) if state == "visible"],
        )

    whole = (list(range(1, last + 1)), steps)
    assert seen() == whole
    figure.get_by_role("button", name="Next step").focus()
    for step in range(1, last + 1):
        page.keyboard.press("Enter")
        assert seen() == ([step], [other for other in steps if other <= step])
        assert items.nth(step - 1).evaluate("item => item.value") == step
    assert_accessible(page, ".steps")
    assert figure.locator("ol").get_attribute("aria-live") == "polite"
    figure.get_by_role("button", name="Previous step").click()
    assert seen()[0] == [last - 1]
    for _ in range(2):
        figure.get_by_role("button", name="Next step").click()
    assert seen() == whole

    for label in ("dy/dx", "dy/dh", "dh/dx"):
        value = printed_behind("start/two-models/tape.md", label)[0]
        sentence = items.filter(has_text=label).inner_text()
        assert value in numbers_in(sentence), f"the step on {label} does not say {value}"
    assert figure.locator("text", has_text="dy/dx").text_content() == "dy/dx: 12"


@pytest.mark.parametrize("address", [WEIGH, STEPS])
def test_figure_is_whole_without_script(new_context, base_url, address):
    """The picture and the list stand there, and nothing that would not work."""
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{base_url}/{address}")
    figure = page.locator(".weigh, .steps")
    assert figure.locator("svg").first.is_visible()
    assert not figure.locator("button, input").count()
    assert all(item.is_visible() for item in figure.locator("li").all())


def test_script_is_loaded_where_it_is_used(page, base_url):
    """A page without such a figure does not ask for it."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{base_url}/parameters/grad_ys/", wait_until="networkidle")
    assert not [url for url in asked if "play" in url]
    page.goto(f"{base_url}/{STEPS}", wait_until="networkidle")
    assert f"{base_url}/assets/play.js" in asked
