"""What formats of lines share: blocks of whole lines with their places, and what parsed tuples say of themselves."""
