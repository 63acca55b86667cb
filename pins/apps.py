from django.apps import AppConfig


class PinsConfig(AppConfig):
    name = "pins"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import projections

        projections.connect()
