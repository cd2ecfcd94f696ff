"""HTML pages: the graph page of a program, and the shell and style sheet that all pages share.

    program.to_html("model.html")                      # one program
    program.to_html("lowered.html", beside=lowered)    # two, with what differs (decision 0050)

A page is one file that loads nothing: what it shows is a JSON document inside it, and the scripts
in `assets/` draw that. `graph_document` makes the document and knows no HTML.
"""

from monograph.pages.graph_document import graph_document
from monograph.pages.graph_page import graph_page, write_graph_page
from monograph.pages.whole_page import POLICY, whole_page

__all__ = ["POLICY", "graph_document", "graph_page", "whole_page", "write_graph_page"]
