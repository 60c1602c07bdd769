"""Records a command on a pseudo-terminal as an animated SVG, for the README."""
