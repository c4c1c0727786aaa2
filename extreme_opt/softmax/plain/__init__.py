"""The methods of this chapter in a few lines of NumPy each, as the lessons derive them; the
compiled versions are tested against them."""
