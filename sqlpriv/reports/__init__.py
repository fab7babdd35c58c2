"""The page that a steward reads, signs and files: one HTML file that needs nothing else.

What is read first stands first: whether it holds, the guarantee in two sentences, who is covered and who is not, what
attackers still learn; then what was asked, found and done, what it costs in use, the choice among others as charts, and
at the end what it takes to check all of it again: parameters, versions, digests and plain SQL.

A page about a release says what its file says, so it may go where the release goes. A page that knows the policy also
reveals something of the private table: it says so on top, and is for the owner. Neither holds a sensitive value or a
row of a person unless `show_values` asks for it.

pages.py      the pages: of a release, of a policy, of two releases
sections.py   what a release promises, the policy asks, the table shows, attackers learn, and else could be chosen
recheck.py    the SQL that checks a release in any DuckDB
evidence.py   a folder to file: the page with what it rests on
html.py       what a page is made of, and its HTML, with page.css and page.js
"""
