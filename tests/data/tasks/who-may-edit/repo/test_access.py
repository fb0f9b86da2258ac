import unittest

from access import User, may_delete, may_edit, may_read

POST = {"author": "ada", "published": True}


class AccessTest(unittest.TestCase):
    def test_author_edits(self):
        self.assertTrue(may_edit(User("ada"), POST))

    def test_others_do_not(self):
        self.assertFalse(may_edit(User("bob"), POST))

    def test_admin_edits(self):
        self.assertTrue(may_edit(User("root", is_admin=True), POST))

    def test_signed_out(self):
        self.assertFalse(may_edit(User("ada", is_signed_in=False), POST))
        self.assertFalse(may_edit(User("root", is_admin=True, is_signed_in=False), POST))

    def test_reading_and_deleting(self):
        self.assertTrue(may_read(User("bob"), POST))
        self.assertFalse(may_delete(User("ada"), POST))
