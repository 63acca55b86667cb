from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class SiteConfig(AppConfig):
    name = "pinbox_site"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.core.checks import Tags, register

        from .checks import check_host

        register(check_host, Tags.security)


class AdminConfig(admin_apps.AdminConfig):
    """Django's admin on our own site."""

    default = False  # or it would be the configuration of `pinbox_site` itself
    default_site = "pinbox_site.admin.PinboxAdminSite"
