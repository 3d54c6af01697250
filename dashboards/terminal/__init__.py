"""The study in a terminal: pure functions from state to text, and the live screen that draws them."""
