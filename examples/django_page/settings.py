"""What a small app without a database needs. The last entry of MIDDLEWARE is all of Pinbox."""

from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent
DEBUG = True
SECRET_KEY = "only for this example"
ROOT_URLCONF = "urls"
MIDDLEWARE = [
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.common.CommonMiddleware",
    "pinbox.inject.DjangoMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
    }
]
