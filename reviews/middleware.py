"""Says for each request who acts, and whether it came through a session or with a token."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from reviews.acting import SESSION, acting


class ActingMiddleware:
    """Belongs right after AuthenticationMiddleware. `reviews.api.credentials` sets `request.acting_via`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(lambda: getattr(request, "user", None), lambda: getattr(request, "acting_via", SESSION)):
            return self.get_response(request)
