"""The page of the service: written by the server as HTML, with a little script that keeps it up to date."""
