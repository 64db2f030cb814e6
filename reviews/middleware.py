"""Says for each request who acts and that it came through a session."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from reviews.acting import SESSION, acting


class ActingMiddleware:
    """Belongs right after AuthenticationMiddleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(lambda: getattr(request, "user", None), SESSION):
            return self.get_response(request)
