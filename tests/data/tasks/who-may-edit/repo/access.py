"""Who may do what with a post."""


class User:
    def __init__(self, name, is_admin=False, is_signed_in=True):
        self.name = name
        self.is_admin = is_admin
        self.is_signed_in = is_signed_in


def may_read(user, post):
    """Published posts are for everybody, drafts for their author."""
    return post["published"] or user.name == post["author"]


def may_edit(user, post):
    """The author and admins, if they are signed in."""
    return user.is_signed_in or user.name == post["author"] or user.is_admin


def may_delete(user, post):
    """Admins only."""
    return user.is_signed_in and user.is_admin
