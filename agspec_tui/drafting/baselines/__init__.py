"""Prior drafters as their own code does it, with its defaults; what AgSpec is compared with."""
