from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "pinbox_site"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.core.checks import Tags, register

        from .checks import check_host

        register(check_host, Tags.security)
