"""Pages of every list: `?limit=&before=&after=`, with the items' own ids as cursors. See
docs/wire.md, "Pages".

`before` and `after` speak of time: strictly older, strictly newer than the item named. A page is
the one nearest to its cursor and keeps the list's own order. Without `limit` the whole rest comes,
read in chunks.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from pinbox.contract import MAX_PAGE, PinboxError

#: Rows read at a time while a whole list goes out.
CHUNK = 500


class IdPages(BasePagination):
    """A view says its order in `page_order` (columns that together are unique, "-" for newest
    first).

    It may turn a cursor into the values of those columns itself (`page_cursor`); otherwise the item
    of that primary key is looked up. Rows may be model instances or tuples whose first member is
    the id.
    """

    # A whole list is never held as one, so an iterator may come back.
    def paginate_queryset(  # type: ignore[override]
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> Iterable[Any]:
        """The rows of the page asked for. Raises E_INVALID_INPUT."""
        limit, before, after = _asked(request)
        order: Sequence[str] = view.page_order
        newest_first = order[0].startswith("-")
        rows = queryset.order_by(*order)
        self._request, self._links = request, dict[str, tuple[str, str]]()
        cursor = before or after
        if cursor:
            columns = [column.lstrip("-") for column in order]
            find = getattr(view, "page_cursor", None) or item_of(queryset, columns)
            rows = rows.filter(beyond(columns, find(cursor), "lt" if before else "gt"))
        if limit is None:
            return rows.iterator(CHUNK)
        # The page nearest to the cursor: reading away from it, which may be against the list's
        # order.
        against = bool(cursor) and bool(before) != newest_first
        found = list((rows.reverse() if against else rows)[: limit + 1])
        more = len(found) > limit
        del found[limit:]
        if against:
            found.reverse()
        if found:
            back, on = ("after", "before") if newest_first else ("before", "after")
            if more if against else cursor:
                self._links["prev"] = (back, _id(found[0]))
            if against or more:
                self._links["next"] = (on, _id(found[-1]))
        return found

    def headers(self) -> dict[str, str]:
        """`Link` with rel="prev" and rel="next" where there is such a page; nothing for a whole
        list.
        """
        links = [f'<{self._url(*link)}>; rel="{rel}"' for rel, link in self._links.items()]
        return {"Link": ", ".join(links)} if links else {}

    def _url(self, direction: str, item: str) -> str:
        query = {
            key: value
            for key, value in self._request.query_params.items()
            if key not in {"before", "after"}
        }
        return f"{self._request.path}?{urlencode({**query, direction: item})}"

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        text = {"type": "string"}
        whole = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}
        return [
            {"name": name, "in": "query", "required": False, "schema": schema, "description": said}
            for name, schema, said in (
                ("limit", whole, "At most so many items; without it the whole list."),
                ("before", text, "Only items older than the one of this id."),
                ("after", text, "Only items newer than the one of this id."),
            )
        ]


def _asked(request: Request) -> tuple[int | None, str | None, str | None]:
    query = request.query_params
    before, after = query.get("before") or None, query.get("after") or None
    if before and after:
        raise PinboxError(
            "E_INVALID_INPUT", "before and after exclude each other", "give one of the two"
        )
    limit = query.get("limit")
    if limit is None:
        return None, before, after
    if limit.isascii() and limit.isdigit() and len(limit) < 8 and 1 <= int(limit) <= MAX_PAGE:
        return int(limit), before, after
    raise PinboxError(
        "E_INVALID_INPUT",
        f"limit: must be a whole number from 1 to {MAX_PAGE}",
        f"page with limit={MAX_PAGE}, or leave it out for the whole list",
    )


def item_of(queryset: QuerySet[Any], columns: Sequence[str]) -> Any:
    """A function from a cursor (an item's id) to the item's values of `columns`. It raises
    E_INVALID_INPUT.
    """

    def find(cursor: str) -> tuple[Any, ...]:
        field = queryset.model._meta.pk
        item = None
        if "\0" not in cursor and (field.get_internal_type() == "CharField" or cursor.isdecimal()):
            item = queryset.model._base_manager.filter(pk=cursor[:64]).values_list(*columns).first()
        if item is None:
            raise PinboxError(
                "E_INVALID_INPUT",
                "the cursor names no item of this list",
                "use the id of an item that the list has shown",
            )
        return tuple(item)

    return find


def beyond(columns: Sequence[str], values: Sequence[Any], side: str) -> Q:
    """Rows on one side of `values` when compared column by column."""
    wanted, equal = Q(), Q()
    for column, value in zip(columns, values, strict=True):
        wanted |= equal & Q(**{f"{column}__{side}": value})
        equal &= Q(**{column: value})
    # Said apart, so that an index on the first column is entered at the right place.
    return wanted & Q(**{f"{columns[0]}__{side}e": values[0]}) if len(columns) > 1 else wanted


def _id(row: Any) -> str:
    return str(row[0] if isinstance(row, tuple) else row.pk)
