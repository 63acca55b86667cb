from django.urls import re_path

from . import api, hooks

_SESSION = "sessions/(?P<session_id>[a-z0-9_]+)"
_PIN = "pins/(?P<pin_id>[a-z0-9_]+)"
_DELIVERY = "deliveries/(?P<delivery_id>[0-9]{1,19})"

urlpatterns = [
    re_path(r"^hooks/(?P<agent>[a-z]+)$", hooks.Hook.as_view()),
    re_path(r"^sessions$", api.Sessions.as_view()),
    re_path(rf"^{_SESSION}$", api.SessionDetail.as_view()),
    re_path(rf"^{_SESSION}/inject$", api.SessionInject.as_view()),
    re_path(rf"^{_SESSION}/pending$", api.SessionPending.as_view()),
    re_path(r"^deliveries$", api.Deliveries.as_view()),
    re_path(rf"^{_DELIVERY}$", api.DeliveryDetail.as_view()),
    re_path(rf"^{_DELIVERY}/attempts$", api.DeliveryAttempts.as_view()),
    re_path(rf"^{_DELIVERY}/retry$", api.DeliveryRetry.as_view()),
    re_path(rf"^{_PIN}/deliveries$", api.PinDeliveries.as_view()),
    re_path(rf"^{_PIN}/rebind$", api.PinRebind.as_view()),
]
