"""A small Django app with the toolbar in its page: `python manage.py runserver`."""

import os
import sys

from django.core.management import execute_from_command_line

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
