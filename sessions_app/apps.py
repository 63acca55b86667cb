from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    # django.contrib.sessions has the label "sessions"; these are the agents' own.
    label = "agent_sessions"
    verbose_name = "agent sessions"
    default_auto_field = "django.db.models.BigAutoField"
