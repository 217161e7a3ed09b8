"""Access: who is asking, what they may do, and what is kept from them."""

from sandbar.access.accounts import (
    Account,
    NewAccount,
    add_account,
    list_accounts,
    revoke,
    set_role,
)
from sandbar.access.admission import MINTED_PACE
from sandbar.access.again import Authority, caller_again, remembered
from sandbar.access.callers import Access, Caller, Limit, Role, Via, local_caller
from sandbar.access.guard import (
    refuse_others_workflow,
    refuse_reserved_workflow,
)
from sandbar.access.guarded import Guarded
from sandbar.access.keyring import Minted, list_keys, mint, revoke_key, rotate
from sandbar.access.keys import KEY_PREFIX
from sandbar.access.leads import add_leads, give_leads, lead_to
from sandbar.access.metamodel import access_definitions, install_access
from sandbar.access.narrowing import Key, narrowing_fields, words_of
from sandbar.access.principals import short_name
from sandbar.access.processes import HouseGuard, kept_classes
from sandbar.access.protected import is_protected, protected_classes, protected_roots
from sandbar.access.rights import Grant, Rights
from sandbar.access.scope import refuse_outside
from sandbar.access.sign_in import Houses, sign_in, sign_in_at_once
from sandbar.access.users import User, add_user, list_users
from sandbar.access.workspaces import (
    METAMODEL,
    Neighbours,
    WorkspaceView,
    budgets_of,
    check_deletable,
    create_workspace,
    delete_workspace,
    entity_count,
    suspend_workspace,
    view_of,
    views_of,
    workspace_names,
)

__all__ = [
    "KEY_PREFIX",
    "METAMODEL",
    "MINTED_PACE",
    "Access",
    "Account",
    "Authority",
    "Caller",
    "Grant",
    "Guarded",
    "HouseGuard",
    "Houses",
    "Key",
    "Limit",
    "Minted",
    "Neighbours",
    "NewAccount",
    "Rights",
    "Role",
    "User",
    "Via",
    "WorkspaceView",
    "access_definitions",
    "add_account",
    "add_leads",
    "add_user",
    "budgets_of",
    "caller_again",
    "check_deletable",
    "create_workspace",
    "delete_workspace",
    "entity_count",
    "give_leads",
    "install_access",
    "is_protected",
    "kept_classes",
    "lead_to",
    "list_accounts",
    "list_keys",
    "list_users",
    "local_caller",
    "mint",
    "narrowing_fields",
    "protected_classes",
    "protected_roots",
    "refuse_others_workflow",
    "refuse_outside",
    "refuse_reserved_workflow",
    "remembered",
    "revoke",
    "revoke_key",
    "rotate",
    "set_role",
    "short_name",
    "sign_in",
    "sign_in_at_once",
    "suspend_workspace",
    "view_of",
    "views_of",
    "words_of",
    "workspace_names",
]
