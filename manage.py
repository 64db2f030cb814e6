#!/usr/bin/env python
"""Django's command line for AgentTwin."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        sys.stderr.write(f"Configuration: {problem}\n")
        # As `compare` and `import_documents` end when they could not do their work.
        sys.exit(4)


if __name__ == "__main__":
    main()
