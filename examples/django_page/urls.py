"""One page: a basket with two faults for a person to find."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

ITEMS = [
    {"name": "Green tea", "note": "Loose leaves, 100 g", "price": 8.5},
    {"name": "Two cups", "note": "Stoneware, made by hand", "price": 16.0},
    {"name": "Honey", "note": "From the valley, 250 g", "price": 5.5},
]


def basket(request: HttpRequest) -> HttpResponse:
    total = sum(item["price"] for item in ITEMS)
    return render(request, "basket.html", {"items": ITEMS, "total": total})


urlpatterns = [path("", basket)]
