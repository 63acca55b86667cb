"""What the measured pins look like: about 1 KB of JSON, as a toolbar writes them."""

from typing import Any

_SENTENCES = (
    "the save button overlaps the footer when the window is narrow and its shadow is cut",
    "the total of the order is wrong after a discount and the text below it is grey on grey",
    "save goes back to the list instead of to the order that was open before the button",
    "the second column jumps while the list loads, so one presses the wrong button of it",
    "after save the focus is at the top of the page and the button has to be found again",
)


def text(number: int) -> str:
    """A remark of about 180 characters; its words are common, `mark<number>:` stands once."""
    first = number % len(_SENTENCES)
    return f"mark{number}: {_SENTENCES[first]}; {_SENTENCES[(number // 7) % len(_SENTENCES)]}"


def pin_input(number: int) -> dict[str, Any]:
    """Body of POST /pins."""
    return {
        "text": text(number),
        "kind": "note",
        "target": {
            "url": f"http://localhost:3000/orders/{number % 50}",
            "selector": f"main > section:nth-child({number % 9 + 1}) > form > button.save",
            "tag": "button",
            "rect": {"x": 12, "y": 40, "width": 80, "height": 24},
            "spot": {"x": 0.4, "y": 0.5},
            "fixed": False,
            "source": {
                "file": f"src/pages/orders/page{number % 20}.tsx",
                "line": 40,
                "via": "plugin",
            },
            "context": {
                "classes": ["save", "primary", "wide"],
                "aria": {"role": "button", "label": "Save the order"},
                "styles": {"color": "rgb(17, 17, 17)", "font-size": "14px", "padding": "4px 12px"},
                "nearbyText": "Total 128.00 Save Cancel Orders are sent within two days",
                "textRuns": ["Save", "Cancel", "Total", "128.00"],
            },
        },
        "env": {
            "viewport": {"w": 1440, "h": 900, "dpr": 2},
            "browser": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
            "os": "Linux",
            "colorScheme": "dark",
        },
        "author": {"userId": "ada@pinbox.example", "name": "Ada"},
    }
