"""What the service answers, by the subject of the request."""
