"""Addresses of this room."""

from django.urls import path

from reviews.views import audit, cases, deciding, manual_sessions, own_reviews, policy, queue, tokens

app_name = "reviews"
urlpatterns = [
    path("comparisons/<int:comparison_id>/cases/<str:scenario>/", cases.case_detail, name="case"),
    path(
        "comparisons/<int:comparison_id>/cases/<str:scenario>/raw/<str:part>/",
        cases.case_raw,
        name="case_raw",
    ),
    path("results/<int:result_id>/override/", deciding.override, name="override"),
    path("reviews/<int:review_id>/withdraw/", deciding.withdraw, name="withdraw"),
    path("cases/<int:pair_id>/flag/", deciding.flag, name="flag"),
    path("queue/policy/", policy.policy, name="policy"),
    path("queue/", queue.queue, name="queue"),
    path("queue/next/", queue.take_next, name="queue_next"),
    path("queue/<int:entry_id>/take/", queue.take, name="queue_take"),
    path("queue/<int:entry_id>/release/", queue.release, name="queue_release"),
    path("queue/<int:entry_id>/assign/", queue.assign, name="queue_assign"),
    path("queue/<int:entry_id>/close/", queue.close, name="queue_close"),
    path("queue/<int:entry_id>/decide/", queue.decide, name="queue_decide"),
    path("audit/", audit.audit_log, name="audit"),
    path("audit/check/", audit.check, name="audit_check"),
    path("audit/export.<str:format>", audit.export, name="audit_export"),
    path("account/tokens/", tokens.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", tokens.revoke, name="token_revoke"),
    path("sessions/", manual_sessions.session_list, name="session_list"),
    path("sessions/open/", manual_sessions.session_open, name="session_open"),
    path("sessions/<int:pk>/", manual_sessions.session_detail, name="session"),
    path("sessions/<int:pk>/close/", manual_sessions.session_close, name="session_close"),
    path("reviews/mine/", own_reviews.own_reviews, name="own_reviews"),
]
