"""From bytes to cleaned lines with origins, times and blocks. Knows no failure."""
