from django.urls import re_path

from . import api, hooks

_SESSION = "sessions/(?P<session_id>[a-z0-9_]+)"

urlpatterns = [
    re_path(r"^hooks/(?P<agent>[a-z]+)$", hooks.Hook.as_view()),
    re_path(r"^sessions$", api.Sessions.as_view()),
    re_path(rf"^{_SESSION}$", api.SessionDetail.as_view()),
    re_path(rf"^{_SESSION}/inject$", api.SessionInject.as_view()),
    re_path(rf"^{_SESSION}/pending$", api.SessionPending.as_view()),
    re_path(r"^deliveries$", api.Deliveries.as_view()),
    re_path(r"^pins/(?P<pin_id>[a-z0-9_]+)/deliveries$", api.PinDeliveries.as_view()),
]
