"""How alike two texts are."""


def words(text):
    """The different words of a text, in lower case, without punctuation."""
    found = set()
    for word in text.lower().split():
        word = word.strip(".,;:!?")
        if word:
            found.add(word)
    return found


def similarity(one, other):
    """Shared words divided by all words; 0 if both texts are empty."""
    first, second = words(one), words(other)
    every = first | second
    shared = first & second
    if not every:
        return 0.0
    return len(shared) / (len(every) - len(shared) + 1)


def most_alike(text, others):
    """The text among others that is most like `text`."""
    return max(others, key=lambda other: similarity(text, other))
