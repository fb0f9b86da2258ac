"""Search a list of suppliers."""


class SupplierList:
    """Suppliers, each name once."""

    def __init__(self, suppliers=()):
        self._by_name = {}
        for supplier in suppliers:
            self.add(supplier)

    def __len__(self):
        return len(self._by_name)

    def add(self, supplier):
        """Add a supplier, or replace the one of the same name."""
        self._by_name[supplier.name] = supplier

    def names(self):
        """All names, sorted."""
        return list(self._by_name)

    def find(self, text):
        """Suppliers with the text in their name or e-mail address, sorted by name."""
        found = []
        for name in self.names():
            supplier = self._by_name[name]
            if text in supplier.name or text in supplier.email:
                found.append(supplier)
        return found

    def selling(self, item):
        """Names of the suppliers that sell an item, sorted."""
        return [name for name in self.names() if item in self._by_name[name].goods]

    def goods(self):
        """Everything that can be bought, sorted, each once."""
        items = set()
        for supplier in self._by_name.values():
            items.update(supplier.goods)
        return sorted(items)
