"""What a client of plain HTTP is given for `verify`.

By default each reads all authorities of the machine, which takes longer than most requests.
"""

from __future__ import annotations

import ssl

WITHOUT_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # it trusts nobody
