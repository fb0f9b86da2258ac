"""The baselines' rules in plain loops over lists: slow and obvious."""

NOTHING = (0, [])


def occurrences(text, pattern):
    """Every position at which `pattern` begins, ascending."""
    size = len(pattern)
    return [i for i in range(len(text) - size + 1) if text[i : i + size] == pattern]


def pld(text, n_prompt=0):
    """(match length, draft) of prompt lookup decoding."""
    for size in (3, 2, 1):
        for position in occurrences(text, text[-size:]) if len(text) >= size else []:
            start = position + size
            if start + 10 <= len(text) and start < len(text) - size:
                return size, text[start : start + 10]
    return NOTHING


def sam(text, n_prompt=0):
    """(match length, draft) of SAM-Decoding's context automaton."""
    n = len(text)
    length = next((m for m in range(n - 1, 0, -1) if len(occurrences(text, text[n - m :])) > 1), 0)
    if length == 0:
        return NOTHING
    n_wanted = min(59, 4 * length)
    start = 0
    for m in range(length, 0, -1):  # shorter suffixes occur earlier or at the same place
        start = occurrences(text, text[n - m :])[0] + m
        if n - start >= n_wanted:
            break
    return length, text[start : start + n_wanted]


def ngram_simple(text, n_prompt):
    """(match length, draft) of llama.cpp's ngram-simple."""
    before = text[:-1]
    if len(before) < n_prompt or len(before) <= 61:
        return NOTHING
    hits = [j for j in occurrences(before, text[-12:]) if j > 0]
    follow = before[hits[-1] + 12 :][:48] if hits else []
    return (12, follow) if len(follow) >= 12 else NOTHING


class Stateless:
    """A rule that looks at nothing but the context and its prompt's length."""

    def __init__(self, rule):
        self.rule = rule

    def begin(self, name, prompt):
        self.n_prompt = len(prompt)

    def search(self, text):
        return self.rule(text, self.n_prompt)

    def observe(self, n_accepted):
        pass


class NgramMapK:
    """llama.cpp's ngram-map-k: a slot for every sequence."""

    def __init__(self, n_slots):
        self.n_slots = n_slots
        self.slots = {}

    def begin(self, name, prompt):
        self.now = self.slots.setdefault(name, NgramMapKSlot(self.n_slots))
        self.now.begin(prompt)

    def search(self, text):
        return self.now.search(text)

    def observe(self, n_accepted):
        self.now.observe(n_accepted)


class NgramMapKSlot:
    """llama.cpp's ngram-map-k for one slot."""

    def __init__(self, n_slots):
        self.n_slots = n_slots
        self.map = {}
        self.keys = []  # [position, cap]
        self.map_last = self.begin_size = self.last_check = 0
        self.used = None

    def slot(self, tokens):
        value = 0
        for token in tokens:
            value = (value * 2654435761 + token) % 2**32
        return value % self.n_slots

    def begin(self, prompt):
        size = len(prompt)
        cut = self.begin_size if self.begin_size <= size else max(0, size - 60)
        if size < self.last_check:
            self.map = {slot: at for slot, at in self.map.items() if at < cut}
            self.map_last = cut - 1 if cut > 0 else 0
            self.keys = [key for key in self.keys if key[0] < cut]
        self.last_check = self.begin_size = size

    def find(self, inp, pattern, positions):
        return next((j for j in positions if inp[j : j + 12] == pattern), 0)

    def search(self, text):
        """(match length, draft) of the present context."""
        self.used = None
        inp, pattern, size = text[:-1], text[-12:], len(text) - 1
        if size < max(72, self.begin_size):
            return NOTHING
        self.last_check = size
        in_prompt = range(self.begin_size - 61, self.map_last, -1)
        in_reply = range(size - 61, max(self.begin_size, self.map_last), -1)
        at = self.map.get(self.slot(pattern), 0)
        if not (0 < at < size - 61 and inp[at : at + 12] == pattern):
            at = self.find(inp, pattern, in_prompt) or self.find(inp, pattern, in_reply)
        for j in [*in_prompt, *in_reply]:
            self.map.setdefault(self.slot(inp[j : j + 12]), j)
        self.map_last = max(self.map_last, size - 61)
        if at == 0:
            return NOTHING
        if not any(inp[key[0] : key[0] + 12] == pattern for key in self.keys):
            self.keys.append([at, 48])
        self.used = next(key for key in self.keys if inp[key[0] : key[0] + 12] == pattern)
        draft = inp[at + 12 : at + 12 + min(48, self.used[1])]
        return (12, draft) if draft else NOTHING

    def observe(self, n_accepted):
        if self.used is not None:
            self.used[1] = n_accepted


class NgramMod:
    """llama.cpp's ngram-mod: one table for all slots."""

    def __init__(self, n_slots):
        self.n_slots = n_slots
        self.table = {}
        self.slots = {}  # name: [n_added, n_drafted, n_low]

    def slot(self, tokens):
        value = 0
        for token in tokens:
            value = (value * 6364136223846793005 + token) % 2**64
        return value % self.n_slots

    def add(self, tokens, start, end):
        for i in range(start, end):
            self.table[self.slot(tokens[i : i + 24])] = tokens[i + 24]

    def begin(self, name, prompt):
        self.now = self.slots.setdefault(name, [0, 0, 0])
        self.now[:2] = 0, 0
        self.n_prompt = len(prompt)
        if len(prompt) < 24:
            return
        self.add(prompt, 0, len(prompt) - 24)
        self.now[0] = len(prompt) - 24
        if len(self.table) > 0.25 * self.n_slots:
            self.table = {}

    def search(self, text):
        """(match length, draft) of the present context."""
        self.now[1] = 0
        before = text[:-1]
        if len(before) < max(24, self.n_prompt):
            return NOTHING
        if self.now[0] + 32 < len(before):
            self.add(before, self.now[0], len(before) - 24)
            self.now[0] = len(before) - 24
        chain = text[-24:]
        while len(chain) < 24 + 64 and self.slot(chain[-24:]) in self.table:
            chain.append(self.table[self.slot(chain[-24:])])
        draft = chain[24:]
        if len(draft) < 48:
            return NOTHING
        self.now[1] = len(draft)
        return 24, draft

    def observe(self, n_accepted):
        if not self.now[1]:
            return
        low = n_accepted / self.now[1] < 0.25
        self.now[2] = self.now[2] + 1 if low else 0
        if self.now[2] >= 5:
            self.table = {}
            self.now[0] = self.now[2] = 0
