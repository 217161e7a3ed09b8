"""Access: who is asking, what they may do, and what is kept from them."""

from sandbar.access.accounts import (
    Account,
    NewAccount,
    add_account,
    list_accounts,
    revoke,
    set_role,
)
from sandbar.access.again import caller_again
from sandbar.access.callers import Access, Caller, Role, local_caller
from sandbar.access.guard import (
    effects_guard,
    is_protected,
    protected_classes,
    protected_roots,
    refuse_reserved_workflow,
)
from sandbar.access.guarded import Guarded
from sandbar.access.metamodel import install_access
from sandbar.access.processes import ProcessGuard, kept_classes
from sandbar.access.sign_in import Houses, sign_in, sign_in_at_once

__all__ = [
    "Access",
    "Account",
    "Caller",
    "Guarded",
    "Houses",
    "NewAccount",
    "ProcessGuard",
    "Role",
    "add_account",
    "caller_again",
    "effects_guard",
    "install_access",
    "is_protected",
    "kept_classes",
    "list_accounts",
    "local_caller",
    "protected_classes",
    "protected_roots",
    "refuse_reserved_workflow",
    "revoke",
    "set_role",
    "sign_in",
    "sign_in_at_once",
]
