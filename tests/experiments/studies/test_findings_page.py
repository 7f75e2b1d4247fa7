"""The page of registered findings and the studies agree."""

import findings_page


def test_the_page_shows_the_findings_of_the_studies():
    page = findings_page.PAGE.read_text(encoding="utf-8")
    assert page == findings_page.up_to_date(page), "run: python tests/support/findings_page.py"
    assert findings_page.up_to_date(page.replace("| tags |", "| ? |")) == page
