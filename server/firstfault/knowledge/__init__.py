"""What is known about failures, loaded from the pages of the encyclopedia. Knows no log and no job."""
