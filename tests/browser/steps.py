"""What the tests of this folder do in a browser, and what they read off its pages."""

from collections.abc import Callable

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

Shot = Callable[[str], None]
DRAWN = ".main-svg path, .main-svg text"
FEWEST_NODES = 5


def waited(browser: webdriver.Chrome, true: Callable[[webdriver.Chrome], object], limit_s: float = 120.0) -> None:
    """Come back when it is true; elements that were drawn anew meanwhile are looked for again."""
    again = (StaleElementReferenceException, NoSuchElementException)
    WebDriverWait(browser, limit_s, poll_frequency=0.1, ignored_exceptions=again).until(true)


def clicked(browser: webdriver.Chrome, by: str, what: str) -> None:
    """Click an element of a page that is drawn anew all the time."""

    def click(b: webdriver.Chrome) -> bool:
        b.find_element(by, what).click()
        return True

    waited(browser, click)


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the console says: broken policies, errors, missing files."""
    return [entry["message"] for entry in browser.get_log("browser")]


def nodes(browser: webdriver.Chrome, figure: str) -> int:
    """How many marks of a figure were really drawn."""
    return len(browser.find_elements(By.CSS_SELECTOR, f"#plot-{figure} {DRAWN.replace(', ', f', #plot-{figure} ')}"))


def text_of(browser: webdriver.Chrome, selector: str = "main") -> str:
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join(' ')"
    return str(browser.execute_script(script, selector))


def opened(browser: webdriver.Chrome, address: str) -> None:
    """Go to a page with charts and wait until it has drawn them all."""
    waited(browser, lambda b: "/login" not in b.current_url)
    browser.get(address)
    waited(browser, lambda b: b.execute_script("return performance.getEntriesByName('drawn all').length"))


def agree(browser: webdriver.Chrome) -> str:
    """Confirm what the dialog says, and give that."""
    waited(browser, lambda b: b.find_elements(By.ID, "confirm"))
    told = text_of(browser, "dialog p")
    browser.find_element(By.ID, "confirm").click()
    waited(browser, lambda b: text_of(b, "#toast"))
    return told
