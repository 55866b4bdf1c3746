# ruff: noqa: RUF001  # the true signs of the page

import html
import re
from html.parser import HTMLParser
from itertools import pairwise

import polars as pl
import pytest

from superarm.report import page as pages
from superarm.report.figures import figures
from superarm.report.page import write_report
from superarm.report.story import story as told
from tests.report.samples import POLICIES, ZETAS, bounds, claims, manifest, results


@pytest.fixture(scope="module")
def frame():
    return results(POLICIES)


@pytest.fixture(scope="module")
def drawn(frame):
    return figures(frame, bounds(frame))


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    assert write_report(folder, frame, manifest(frame), claims(), bounds(frame)) == folder / "report.html"
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


class Outline(HTMLParser):
    """Tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.words = []
        self.inside = None
        self.open = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self.inside = tag
        if tag not in ("meta", "line", "br", "link", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.inside = None

    def handle_data(self, data):
        if self.inside is None:
            self.words.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_the_page_holds_everything(drawn, page):
    words = " ".join("".join(Outline(page).words).split())
    for policy in POLICIES:
        assert policy in words
    for claim in claims():
        for part in (claim.claim, claim.expected, claim.measured, claim.verdict, claim.remark):
            assert part in words
    for figure in drawn:
        assert figure.caption in words
        assert figure.title in words
        assert html.escape(figure.alternative) in page
    for part in ("A study of <promises> & rewards", "kernel › lengthscale", "not known", "3 runs", "30 rounds"):
        assert part in words


def test_files_of_every_figure_are_there_and_nothing_else(drawn, folder):
    names = {f"{figure.name}.{suffix}" for figure in drawn for suffix in ("png", "svg", "pdf")}
    assert {path.name for path in (folder / "figures").iterdir()} == names
    assert {path.name for path in folder.iterdir()} == {"figures", "report.html"}
    for link in Outline((folder / "report.html").read_text(encoding="utf-8")).of("a"):
        if not link["href"].startswith("#"):
            assert (folder / link["href"]).is_file()


def test_nothing_is_loaded_from_elsewhere(page):
    outline = Outline(page)
    for _, attributes in outline.tags:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert not re.match(r"(https?:)?//", attributes.get(name) or "")
    assert not outline.of("link")
    assert not any("src" in script for script in outline.of("script"))
    own = page.replace(pages._bundle(), "")
    assert "http" not in own.replace("http-equiv", "")
    assert "url(" not in own
    assert "@import" not in own
    assert "default-src 'none'" in page  # the browser enforces it


def test_the_bundle_stands_there_once(page):
    assert page.count(pages._bundle()) == 1


def test_the_page_opens_with_its_story_its_picture_and_five_columns(frame, page):
    top, _, folded = page.partition("<details")
    story, picture, table = (top.index(mark) for mark in ('class="story"', 'id="tradeoff"', "<table"))
    assert top.index("<h1") < story < picture < table
    assert html.escape(told(frame)).replace(" %", "&nbsp;%") in top
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', top) == [
        *("Policy", "Reward", "Promises kept", "Group regret", "Time per choice, ms")
    ]
    assert top.count("<figure") == 1
    headings = re.findall(r'<summary><h2 id="(\w+)">', "<details" + folded)
    assert headings == ["figures", "summary", "calibration", "claims", "settings"]
    assert "<details open" not in page


def test_the_story_tells_of_five_policies_or_of_the_telling_ones(frame):
    few = told(frame.filter(pl.col("policy").is_in(["cautious", "uniform", "clairvoyant"])))
    assert "cautious, which certifies before it plays, kept " in few
    assert "clairvoyant" not in few
    assert few.count("earned") == 2 + ("More than 1" in few)
    assert "the table below" not in few
    many = told(frame)
    assert 3 <= many.count("kept ") <= 5
    assert f"These are {many.count('kept ')} of 9 policies; the table below has all." in many
    shares = [float(share) for share in re.findall(r"kept >?([\d.]+) %", many)]
    assert shares == sorted(shares, reverse=True)
    alone = told(frame.filter(policy="uniform").with_columns(groups_touched=pl.lit(0), groups_satisfied=pl.lit(0)))
    assert "kept" not in alone
    assert alone.startswith("uniform, which picks at random, earned ")


def test_one_run_of_one_round_is_said_in_the_singular(frame):
    one = pages.page(frame.filter(run=0, t=1), manifest(frame) | {"runs": 1, "rounds": 1}, [], ())
    assert "<span>1 run</span><span>1 round</span>" in one


def test_minus_signs_are_true_ones(frame):
    claim = claims()[0]
    claim.measured, claim.remark = "signed -5.1 ± 2 (-3) against a-1", "by -2.0, 1-2"
    page = pages.page(frame, manifest(frame), [claim], ())
    assert "signed −5.1 ± 2 (−3) against a-1<" in page
    assert "by −2.0, 1-2<" in page


def test_tables_and_charts_can_be_read_aloud(page):
    outline = Outline(page)
    assert all(cell.get("scope") in ("col", "row") for cell in outline.of("th"))
    charts = [part for part in outline.of("div") if part.get("role") == "img"]
    assert len(charts) == len(outline.of("figure"))
    assert all(len(part["aria-label"]) > 40 for part in charts)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


@pytest.mark.parametrize(
    ("data", "kind", "banner"),
    [
        (None, None, None),
        ("ml-25m", "paper's", None),
        ("ml-latest-small: 9 ratings", "other", "Not the paper's data."),
        ("a synthetic look-alike, NOT MovieLens", "synthetic", "Synthetic data."),
        ("my synthetic subset", "paper's", None),  # words alone mean nothing
    ],
)
def test_a_banner_says_when_data_are_not_the_papers(frame, data, kind, banner):
    page = pages.page(frame, manifest(frame, data, kind), [], ())
    assert ('class="note" role="note"' in page) == (banner is not None)
    assert banner is None or banner in page
    assert data is None or data in page


def test_a_banner_says_when_rounds_are_missing(frame):
    page = pages.page(frame.head(500), manifest(frame), [], ())
    assert "500 of 900 rounds are there" in page


@pytest.mark.slow
def test_equal_results_give_equal_bytes(frame, folder, tmp_path):
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=5)
    write_report(tmp_path, shuffled, manifest(frame), claims(), bounds(frame))
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            again = (tmp_path / path.relative_to(folder)).read_bytes()
            if path.suffix == ".pdf":  # the converter numbers fonts and graphics states at random
                assert len(again) == pytest.approx(path.stat().st_size, abs=100)
            else:
                assert again == path.read_bytes(), path.name


@pytest.mark.slow
def test_the_tradeoff_has_its_page(tmp_path):
    frame = results([*ZETAS, "clairvoyant"], experiment="tradeoff", runs=2, rounds=5)
    page = write_report(tmp_path, frame, manifest(frame), claims()).read_text(encoding="utf-8")
    assert "Final regret against ζ" in page
    assert (tmp_path / "figures" / "zeta.pdf").read_bytes().startswith(b"%PDF")


def test_a_failed_write_leaves_what_was_there(frame, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("before")

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(pages, "figures", lambda *_: ())
    monkeypatch.setattr(pages.os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        write_report(tmp_path, frame, manifest(frame), claims())
    assert (tmp_path / "report.html").read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"figures", "report.html"}


def test_hostile_names_stay_text(frame):
    evil = "</script><script>alert(1)</script>"
    renamed = frame.with_columns(policy=frame["policy"].replace({"cucb": evil}))
    page = pages.page(renamed, manifest(renamed), claims(), figures(renamed))
    assert evil not in page
    assert html.escape(evil) in page


def test_every_part_with_charts_has_a_legend_of_what_it_draws(page):
    for part, policies in (("figures", POLICIES), ("calibration", ["cautious", "tcgp-ucb", "stcgp-ucb"])):
        body = page.split(f'<h2 id="{part}">')[1].split("</details>")[0]
        legend = body.split('<div class="legend"')[1].split("</div>")[0]
        assert set(policies) <= set(re.findall('data-policy="(.*?)"', legend))
        assert legend.count("<svg") == legend.count("data-policy")
        assert body.index('class="legend"') < body.index("<figure")
    assert "uniform" not in re.findall('data-policy="(.*?)"', legend)


def test_one_thing_has_one_name(page, drawn):
    words = " ".join("".join(Outline(page).words).split())
    told = words.replace("".join(claim.claim for claim in claims()), "")
    assert told.lower().count("benchmark") == 1
    assert "clairvoyant, which knows the truth and keeps every promise that can be kept: the benchmark." in told
    assert "satisfied" not in told.split("Claims of the paper")[0].lower()
    assert not any("satisfied" in figure.title.lower() for figure in drawn)


def test_a_name_of_any_length_and_direction_leaves_the_rest_of_the_page_alone(frame):
    turned = "\u202eevil"
    renamed = frame.with_columns(policy=frame["policy"].replace({"cucb": turned, "cc-mab": "x" * 200}))
    page = pages.page(renamed, manifest(renamed) | {"title": f"Of {turned} and others"}, [], figures(renamed))
    assert "\u202e" not in page
    assert "\\u202e" not in page
    assert "<h1><bdi>Of \ufffdevil and others</bdi></h1>" in page
    assert f"</svg><bdi>{'x' * 200}</bdi></button>" in page
    assert re.search(r"h1, .*button.* th bdi \{ overflow-wrap: anywhere", page)
