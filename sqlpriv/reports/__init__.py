"""The page that a steward reads, signs and files: one HTML file that needs nothing else.

The first screen answers: may it go out, who is protected from whom, four figures, and a place to sign. Then: what
readers see of each column, what attackers learn, what is not covered, and the parameters. That is two printed pages.
Everything else is folded, and printed as an appendix: what is promised, and how each promise was verified; what was
required, found and done; the choice among others; plain SQL that checks it again.

A page about a release says what its file says, so it may go where the release goes. A page that knows the policy also
reveals something of the private table: it says so on top, and is for the owner. Example cells are made up, or those of
many rows; other values of people are on it only if `show_values` asks for them.

pages.py      the pages: of a release, of a policy, of two releases
figures.py    the numbers: people, people at risk, what is guessed of them; as tiles and bars
columns.py    what readers see of each column, with an example
sections.py   what is promised and verified, not covered, asked, found, and could be chosen
recheck.py    the SQL that checks a release in any DuckDB
evidence.py   a folder to file: the page with what it rests on
html.py       what a page is made of, and its HTML, with page.css and page.js
"""
