from django.urls import re_path

from . import api

urlpatterns = [
    re_path(r"^sessions/(?P<session_id>[a-z0-9_]+)$", api.SessionDetail.as_view()),
]
