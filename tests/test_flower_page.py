"""What docs/flower_app.md quotes is in the app, which tests/flower runs by the commands of that page."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "flower_app.md").read_text(encoding="utf-8")
APP = ROOT / "examples" / "flower_app" / "limits_app"


def test_quotes_are_true():
    files = [path.read_text(encoding="utf-8") for path in APP.glob("*.py")]
    quotes = re.findall(r"^```py\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(quotes) >= 2
    for quote in quotes:
        assert any(quote in file for file in files), quote


def test_settings_of_commands_are_settings_of_the_app():
    known = set(re.findall(r'^    "([\w-]+)":', (APP / "settings.py").read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for words in re.findall(r"--run-config '([^']+)'", PAGE) for word in re.findall(r"([\w-]+)=", words)}
    assert len(named) >= 4
    assert named <= known
