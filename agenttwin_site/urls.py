"""Root addresses. Each room brings its own; what only the site knows is here."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path, re_path

from agenttwin_site import views
from agenttwin_site.api.site import Description, docs
from agenttwin_site.api.views import NoSuchAddress
from agenttwin_site.metrics_view import Metrics

admin.site.site_header = "AgentTwin administration"
admin.site.site_title = "AgentTwin"
admin.site.index_title = "Accounts, documents and what was measured"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("login/", views.LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", views.PasswordChangeView.as_view(), name="password_change"),
    path("favicon.ico", views.favicon, name="favicon"),
    path("metrics", Metrics.as_view(), name="metrics"),
    path("ci/agenttwin_ci.py", views.ci_client, name="ci_client"),
    path("admin/login/", views.admin_login),
    path("admin/", admin.site.urls),
    path("api/schema/", Description.as_view(), name="api_schema"),
    path("api/docs/", docs, name="api_docs"),
    path("api/v1/", include("agenttwin_site.api.urls", namespace="api")),
    re_path("^api/", NoSuchAddress.as_view()),
    *(path("", include(f"{room}.urls")) for room in ("evaluations", "reviews", "scenarios", "twins")),
]

handler400 = "agenttwin_site.error_pages.bad_request"
handler403 = "agenttwin_site.error_pages.permission_denied"
handler404 = "agenttwin_site.error_pages.not_found"
handler500 = "agenttwin_site.error_pages.server_error"
