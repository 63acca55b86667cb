from django.urls import re_path

from . import api

_PIN = "(?P<pin_id>[a-z0-9_]+)"

urlpatterns = [
    re_path(r"^events$", api.EventList.as_view()),
    re_path(r"^attachments$", api.Attachments.as_view()),
    re_path(r"^media/(?P<attachment_id>[a-z0-9_]+)$", api.Media.as_view()),
    re_path(r"^pins$", api.PinList.as_view()),
    re_path(rf"^pins/{_PIN}$", api.PinDetail.as_view(), name="pin"),
    re_path(rf"^pins/{_PIN}/events$", api.PinEvents.as_view()),
    re_path(rf"^pins/{_PIN}/thread$", api.PinThread.as_view(), name="thread"),
    re_path(rf"^pins/{_PIN}/resolve$", api.PinResolve.as_view(), name="resolve"),
    re_path(rf"^pins/{_PIN}/verify$", api.PinVerify.as_view(), name="verify"),
]
