"""Every route of the hub. /health is answered in front of them (pinbox_site.door)."""

from django.contrib import admin
from django.urls import include, path, re_path

from .openapi import Schema
from .views import AdminLinks, Summary

urlpatterns = [
    path("", include("pins.urls")),
    path("", include("delivery.urls")),
    re_path(r"^summary$", Summary.as_view()),
    re_path(r"^schema$", Schema.as_view()),
    re_path(r"^admin-link$", AdminLinks.as_view()),
    path("admin/", admin.site.urls),
]
