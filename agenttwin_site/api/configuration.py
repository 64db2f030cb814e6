"""Settings of the framework and of the description, kept beside what they configure. Imports nothing."""

from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "reviews.api.credentials.TokenAuthentication",
        "agenttwin_site.api.access.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["agenttwin_site.api.access.HasAccess"],
    "DEFAULT_THROTTLE_CLASSES": ["agenttwin_site.api.throttling.PerCredentialThrottle"],
    "DEFAULT_PARSER_CLASSES": ["agenttwin_site.api.parsing.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "agenttwin_site.api.errors.exception_handler",
    # `?format=` would choose a renderer; here the address alone says what is answered.
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "AgentTwin",
    "VERSION": "1",
    "DESCRIPTION": (
        "Compare two versions of an agent on tool twins and read what their tools recorded.\n\n"
        "Send `Authorization: Bearer TOKEN`. Every failure is "
        "`{code, detail, problems?: [{path, line?, detail}]}`. "
        "Lists come in pages: follow `next` until it is null."
    ),
    # The order of the pages.
    "TAGS": [
        {
            "name": "comparisons",
            "description": "Start, follow and cancel comparisons, and read their reports.",
        },
        {"name": "cases", "description": "What both sides did in a case, and where they part."},
        {"name": "sessions", "description": "Live cases for agents that have no endpoint."},
        {"name": "twins", "description": "Stand-ins for tools, kept in versions."},
        {"name": "scenarios", "description": "Situations an agent is put in, kept in versions."},
        {"name": "agents", "description": "Registered versions of agents."},
        {
            "name": "judges",
            "description": "What judges look for, what people say of it, and how far a judge can be trusted.",
        },
        {"name": "reviews", "description": "Decisions of people on results."},
        {"name": "queue", "description": "What needs a person."},
        {"name": "audit", "description": "Who did what, sealed in a chain."},
        {"name": "site", "description": "Who am I, and whether the server is up."},
    ],
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "POSTPROCESSING_HOOKS": ["agenttwin_site.api.schema.describe_addresses"],
    "DISABLE_ERRORS_AND_WARNINGS": False,
}
