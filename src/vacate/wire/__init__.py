"""What passes between an API server and its clients: request, response, watch framing."""
