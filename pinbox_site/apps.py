from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "pinbox_site"
    default_auto_field = "django.db.models.BigAutoField"
