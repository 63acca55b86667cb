"""The hub as one ASGI application: gate, then the API's bridge, then Django for the admin."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinbox_site.settings")

import django

django.setup(set_prefix=False)

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402

from .bridge import Bridge  # noqa: E402
from .gate import Gate  # noqa: E402

application = Gate(Bridge(ASGIStaticFilesHandler(ASGIHandler())))
