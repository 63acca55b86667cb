"""One settings file: local (SQLite in the project's `.pinbox`) or team (DATABASE_URL). Everything
comes from the environment.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django import __version__ as django_version

from pinbox import __version__ as pinbox_version
from pinbox import project

BASE_DIR = Path(__file__).resolve().parent.parent


def env_bool(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "true", "yes", "on"}


def database(url: str) -> dict[str, Any]:
    """`postgresql://user:password@host:port/name`, or an empty string for the project's own SQLite
    file.
    """
    if url:
        parts = urlsplit(url)
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.lstrip("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": 600,
            "CONN_HEALTH_CHECKS": True,
        }
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": PROJECT_DIR / ".pinbox" / "pinbox.db",
        # A lane keeps its connection. Opening one costs as much as a write, and closing the last
        # one makes a checkpoint.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction that reads before it writes must hold the write lock from its start,
            # else SQLite
            # refuses it at once and ignores the time-out.
            "transaction_mode": "IMMEDIATE",
            "timeout": 10,  # seconds
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        },
        "TEST": {"NAME": os.environ.get("PINBOX_TEST_DB") or None},
    }


def channel_layers(url: str, database_name: str) -> dict[str, Any]:
    """How the processes of a team's hub tell each other that the log has grown. Without an address
    of a Redis, each of them looks for itself; within one process nothing of it is needed.
    """
    if not url:
        return {}
    return {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [url], "prefix": f"pinbox:{database_name}"},
        }
    }


#: The hub's own process gets its project from `serve`; a management command finds it from where it
#: stands.
PROJECT_DIR = Path(os.environ.get("PINBOX_PROJECT") or project.find())

SECRET_KEY = os.environ.get("PINBOX_SECRET_KEY") or project.secret(PROJECT_DIR)
DEBUG = False
# The gate in front of Django (pinbox_site.gate) checks Host on every route.
ALLOWED_HOSTS = ["*"]
APPEND_SLASH = False
ROOT_URLCONF = "pinbox_site.urls"
ASGI_APPLICATION = "pinbox_site.asgi.application"
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": database(os.environ.get("DATABASE_URL", ""))}
CHANNEL_LAYERS = channel_layers(os.environ.get("REDIS_URL", ""), str(DATABASES["default"]["NAME"]))
DATA_UPLOAD_MAX_MEMORY_SIZE = None  # the gate caps bodies, with an answer in the envelope

INSTALLED_APPS = [
    "pinbox_site.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "channels",
    "pins",
    "sessions_app",
    "delivery",
    "pinbox_site",
]
MIDDLEWARE = [
    "pinbox_site.door.ApiDoor",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
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
            ]
        },
    }
]
# The versions are in the address, so that a browser keeps a file for as long as it is the same.
STATIC_URL = f"/static/{pinbox_version}-{django_version}/"

# Cookies know hosts, not ports: a server on another port of this machine gets them too. So they go
# to the admin's path only, each hub has its own, and no page of another site can make them be sent.
SESSION_COOKIE_NAME = f"pinbox_session_{project.project_id(PROJECT_DIR)}"
SESSION_COOKIE_PATH = "/admin/"
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_AGE = 12 * 3600  # seconds
CSRF_COOKIE_NAME = f"pinbox_csrf_{project.project_id(PROJECT_DIR)}"
CSRF_COOKIE_PATH = "/admin/"
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_HTTPONLY = True
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["pinbox_site.auth.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["pinbox_site.auth.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["pinbox_site.envelope.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["pinbox_site.envelope.EnvelopeRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "pinbox_site.envelope.OneRenderer",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS is a preflight (the gate's) or an unknown method
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "pinbox_site.paging.IdPages",
    "EXCEPTION_HANDLER": "pinbox_site.envelope.answer_to_error",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Pinbox",
    "VERSION": "1",
    "POSTPROCESSING_HOOKS": ["pinbox_site.openapi.complete"],
}
