#!/usr/bin/env python
"""Django's command line for AgentTwin."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        sys.stderr.write(f"Configuration: {problem}\n")
        # As `compare` and `import_documents` end when they could not do their work.
        sys.exit(4)
    except OperationalError as problem:
        if _is_connected() or "--traceback" in sys.argv:
            raise
        text = " ".join(str(problem).split())
        sys.stderr.write(f"The database does not let us in: {text}\nDATABASE_URL names the database.\n")
        sys.exit(4)


def _is_connected() -> bool:
    """Whether the failure came after a connection was made: then it is not about the server."""
    from django.db import connection

    return connection.connection is not None


if __name__ == "__main__":
    main()
