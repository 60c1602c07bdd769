"""What goes wrong in the laboratory, by what it breaks, and what people do. Each fault ends after a while."""
