"""Settings, all read from the environment and safe without any.

Without configuration: SQLite in WAL mode, no broker server, no debug pages, loopback hosts only.
``DATABASE_URL`` and ``CELERY_BROKER_URL`` switch to PostgreSQL and to RabbitMQ or Redis.
"""

import contextlib
import os
import secrets
from pathlib import Path

import environ
from celery.schedules import schedule
from django.core.exceptions import ImproperlyConfigured

from agenttwin_site import environment, logs
from agenttwin_site.api import configuration as _api
from evaluations.judges.interface import FAKE_PROVIDER
from evaluations.judges.registry import NAMED_MODEL, PROVIDERS

BASE_DIR = Path(__file__).resolve().parent.parent

# Everything the application itself writes: database, embedded broker, secret key.
DATA_DIR = Path(environment.text("AGENTTWIN_DATA_DIR") or BASE_DIR / "var").resolve()


def _secret_key() -> str:
    """The configured key, else one made once and kept in the data folder, readable by its owner alone."""
    if configured := environment.text("DJANGO_SECRET_KEY"):
        return configured
    path = DATA_DIR / "secret_key"
    DATA_DIR.mkdir(parents=True, exist_ok=True)
    # Two processes may start at once: the first creates the file whole (no link half-exists), both read it.
    if not path.exists():
        fresh = DATA_DIR / f"secret_key.{os.getpid()}"
        descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text(encoding="ascii")


SECRET_KEY = _secret_key()
DEBUG = environment.switch("DJANGO_DEBUG")
ALLOWED_HOSTS = environment.listed("DJANGO_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
# A document may have 1 MiB; a larger one, percent-encoded by a form, still gets its problem beside the text.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
CSRF_TRUSTED_ORIGINS = environment.listed("DJANGO_CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "agenttwin_site",
    "twins",
    "scenarios",
    "evaluations",
    "reviews",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "reviews.middleware.ActingMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "agenttwin_site.middleware.LoginGateMiddleware",
    "agenttwin_site.middleware.PrivatePagesMiddleware",
]

ROOT_URLCONF = "agenttwin_site.urls"
ASGI_APPLICATION = "agenttwin_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "agenttwin_site.context.site",
            ],
        },
    },
]

# ------------------------------------------------------------------------------------ database

DATABASES = {
    "default": environment.service(
        "DATABASE_URL",
        f"sqlite:///{DATA_DIR / 'agenttwin.sqlite3'}",
        environ.Env.DB_SCHEMES,
        environ.Env.db_url_config,
        "a database: postgres://USER:PASSWORD@HOST:5432/NAME or sqlite:///PATH",
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATA_DIR.mkdir(parents=True, exist_ok=True)
    # Immediate transactions take the write lock at once, so two writers wait instead of failing with
    # "database is locked"; WAL lets readers go on meanwhile.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA busy_timeout=20000; PRAGMA journal_size_limit=67108864;"
        ),
    }
else:
    # A connection ends with its request (CONN_MAX_AGE 0): each request of an ASGI server has a thread of its
    # own, and a connection kept open stays behind in it. 160 requests left 87, and PostgreSQL takes 100.
    DATABASES["default"].setdefault("CONN_HEALTH_CHECKS", True)

# -------------------------------------------------------------------------------------- Celery

# Without a configured broker the queue is a folder: real Celery workers, no server. Commands that run a
# comparison then do the work themselves and need no worker at all.
CELERY_BROKER_URL = environment.broker("CELERY_BROKER_URL")
BROKER_IS_CONFIGURED = bool(CELERY_BROKER_URL)
CELERY_BROKER_URL = CELERY_BROKER_URL or "filesystem://"
AGENTTWIN_LEASE_SECONDS = environment.whole(
    "AGENTTWIN_LEASE_SECONDS", 60, least=1, most=environment.DAY_SECONDS
)
# How long a command that waits for workers of a broker goes on while none of them is at work.
AGENTTWIN_STALL_SECONDS = environment.seconds("AGENTTWIN_STALL_SECONDS", 60.0, least=0)

if CELERY_BROKER_URL.startswith("filesystem://"):
    _queue_dir = DATA_DIR / "broker"
    for _name in ("queue", "processed", "control"):
        (_queue_dir / _name).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_queue_dir / "queue"),
        "data_folder_out": str(_queue_dir / "queue"),
        "processed_folder": str(_queue_dir / "processed"),
        "control_folder": str(_queue_dir / "control"),
        "store_processed": False,
        "polling_interval": 0.05,
    }
else:
    # A request that starts a comparison does not wait for a broker that is away: the sweep wakes the workers.
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.2,
        "interval_max": 0.2,
    }
    if CELERY_BROKER_URL.startswith(("redis://", "rediss://")):
        CELERY_BROKER_TRANSPORT_OPTIONS |= {
            "visibility_timeout": 600,
            "unacked_restore_interval": 2,
            "unacked_restore_throttle": 1,
        }

CELERY_TASK_DEFAULT_QUEUE = environment.text("CELERY_QUEUE", "agenttwin")
# Judging mostly waits for others; where that holds up running, it gets a queue and workers of its own.
JUDGE_QUEUE = environment.text("JUDGE_QUEUE", CELERY_TASK_DEFAULT_QUEUE)
CELERY_TASK_ROUTES = {
    f"evaluations.tasks.{name}": {"queue": JUDGE_QUEUE} for name in ("judge_cases", "judge_sessions")
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "recover-overdue-cases": {
        "task": "evaluations.tasks.recover",
        "schedule": schedule(run_every=environment.seconds("AGENTTWIN_SWEEP_SECONDS", 5.0, least=0.1)),
        # A sweep nobody took in time is stale; the next one does its work.
        "options": {"expires": 10},
    }
}

# -------------------------------------------------------------------------------------- agents

# Agents that run inside the worker: agent name -> dotted path of a class (docs/own-agent.md).
AGENTTWIN_IN_PROCESS_AGENTS = environment.texts_by_name(
    "AGENTTWIN_IN_PROCESS_AGENTS",
    '{"my-agent": "my_package.MyAgent"}',
    {
        "support-refund-agent": "demo.refund.planner.SupportRefundAgent",
        "approved-refunds-agent": "demo.approved_refunds.agent.ApprovedRefundsAgent",
        "reminder-agent": "demo.reminders_and_topups.reminders.agent.ReminderAgent",
        "top-up-agent": "demo.reminders_and_topups.topups.agent.TopUpAgent",
    },
)
# Agents that are asked over HTTP: agent name -> address, which may be on this machine or a private network
# (docs/http-agents.md).
AGENTTWIN_AGENT_ENDPOINTS = environment.addresses_by_name(
    "AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": "http://127.0.0.1:9000"}'
)
# How many cases of such agents one worker process has under way at once.
AGENTTWIN_REMOTE_CASES = environment.whole("AGENTTWIN_REMOTE_CASES", 8, least=1, most=1000)

# Where agents reach this server: the base of the tool URLs they are given (twins/wire).
AGENTTWIN_PUBLIC_URL = environment.address("AGENTTWIN_PUBLIC_URL", "http://127.0.0.1:8000")

# -------------------------------------------------------------------------------------- judges

# Who grades semantic expectations (docs/judges.md). Keys are no settings of ours: each provider's own client
# library reads its own variable, in the process that judges.
JUDGE_PROVIDER = environment.named("JUDGE_PROVIDER", FAKE_PROVIDER, PROVIDERS)
JUDGE_MODEL = environment.text("JUDGE_MODEL")
# Another address than the provider's own, such as a model server in one's network.
JUDGE_BASE_URL = environment.address("JUDGE_BASE_URL", "")
JUDGE_TIMEOUT_S = environment.seconds("JUDGE_TIMEOUT_S", 30.0, least=0.1)
# What one comparison may ask and cost; beyond it semantic expectations are SKIPPED.
JUDGE_MAX_CALLS = environment.whole("JUDGE_MAX_CALLS", 2000, least=0, most=10_000_000)
JUDGE_MAX_COST_USD = environment.amount("JUDGE_MAX_COST_USD")
# US dollars per million tokens, by which a cost is known.
JUDGE_PRICE_INPUT = environment.amount("JUDGE_PRICE_INPUT")
JUDGE_PRICE_OUTPUT = environment.amount("JUDGE_PRICE_OUTPUT")
# How many questions to one provider are under way at once, over all workers.
JUDGE_CONCURRENCY = environment.whole("JUDGE_CONCURRENCY", 4, least=1, most=1000)
# A verdict on exactly the same material by exactly the same judge is not asked for again.
JUDGE_CACHE = environment.switch("JUDGE_CACHE", default=True)

if JUDGE_PROVIDER in NAMED_MODEL and not JUDGE_MODEL:
    raise ImproperlyConfigured(f"JUDGE_PROVIDER {JUDGE_PROVIDER} needs JUDGE_MODEL")
if (JUDGE_PRICE_INPUT is None) != (JUDGE_PRICE_OUTPUT is None):
    raise ImproperlyConfigured("JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT are given together or not at all")
if JUDGE_MAX_COST_USD is not None and JUDGE_PROVIDER in NAMED_MODEL and JUDGE_PRICE_INPUT is None:
    raise ImproperlyConfigured(
        "JUDGE_MAX_COST_USD needs JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT: without prices no cost is known"
    )

# What a run costs beside its model, for the cost per successful task: nothing, unless it is said here.
AGENTTWIN_TOOL_CALL_USD = environment.amount("AGENTTWIN_TOOL_CALL_USD")
AGENTTWIN_REVIEW_MINUTES = environment.amount("AGENTTWIN_REVIEW_MINUTES")
AGENTTWIN_REVIEW_USD_PER_HOUR = environment.amount("AGENTTWIN_REVIEW_USD_PER_HOUR")

# ----------------------------------------------------------------------------------------- API

REST_FRAMEWORK = _api.REST_FRAMEWORK
SPECTACULAR_SETTINGS = _api.SPECTACULAR_SETTINGS
# Requests a minute for each token (or session account, or address without both); 0 counts nothing.
AGENTTWIN_API_RATE = environment.whole("AGENTTWIN_API_RATE", 1200, least=0, most=1_000_000)
# Where they are counted. Without a shared cache each web process counts for itself.
CACHES = {
    "default": environment.service(
        "AGENTTWIN_CACHE_URL",
        "locmemcache://agenttwin",
        environ.Env.CACHE_SCHEMES,
        environ.Env.cache_url_config,
        "a cache: redis://HOST:6379/1 or locmemcache://NAME",
    )
}

# ------------------------------------------------------------------------------------ security

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
CSRF_FAILURE_VIEW = "agenttwin_site.error_pages.csrf_failure"
# No inline script or style anywhere, and no request leaves this server.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "connect-src": ["'self'"],
        "img-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# Behind TLS (a deployment says so); the embedded default speaks plain HTTP on the loopback address.
_TLS = environment.switch("AGENTTWIN_TLS")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _TLS
SECURE_HSTS_SECONDS = 31536000 if _TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _TLS

# ------------------------------------------------------------------------------ language, static

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
with contextlib.suppress(OSError):
    # Empty until collectstatic is run, but WhiteNoise complains about a folder that is not there.
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"] if (BASE_DIR / "static").is_dir() else []
WHITENOISE_USE_FINDERS = True

_LOG_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
_LOG_FORMAT = environment.one_of("AGENTTWIN_LOG_FORMAT", "TEXT", logs.FORMATTERS)
# The figures at /metrics need a token with the scope read; in a network of one's own they may be open.
AGENTTWIN_METRICS_PUBLIC = environment.switch("AGENTTWIN_METRICS_PUBLIC")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": logs.FORMATTERS[_LOG_FORMAT]}},
    "filters": {"refusals": {"()": lambda: logs.without_refusals_trace}, "ids": {"()": logs.AddIds}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["refusals", "ids"]}
    },
    # The folder that is the queue has no host; kombu would say so at every start.
    "loggers": {"kombu.connection": {"level": "ERROR"}},
    "root": {
        "handlers": ["stderr"],
        "level": environment.one_of("AGENTTWIN_LOG_LEVEL", "WARNING", _LOG_LEVELS),
    },
}
