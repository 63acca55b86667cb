from django.apps import AppConfig


class PinsConfig(AppConfig):
    name = "pins"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import projections, signals
        from .live import live_log

        projections.connect()
        signals.event_committed.connect(live_log.committed, dispatch_uid="pins.live")
