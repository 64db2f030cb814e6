"""The pages of criteria, labelling and calibrations: who may what, what is hidden, what it costs."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evaluations.models import Calibration, Criterion, Example, Label
from evaluations.services import labelling
from evaluations.services.calibrating import run_calibration
from evaluations.services.calibration import start_calibration
from tests.calibration.conftest import ScriptedJudge, examples_of, good_and_bad, judge, label_all, people
from tests.models import factories

__all__ = ["judge", "people"]

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "HX-Target": "labelling"}
CRITERION = "/judges/criteria/handover/"
LABEL = f"{CRITERION}label/"
Person = Callable[..., Client]
People = Callable[..., User]


def text(response: Any) -> str:
    return response.content.decode()


def calibration_of(version: Any) -> Calibration:
    calibration, _ = start_calibration(version=version, wake=False)
    run_calibration(calibration.pk)
    calibration.refresh_from_db()
    return calibration


# ------------------------------------------------------------------------------------- who may


@pytest.mark.parametrize(
    ("role", "sees", "labels", "edits"),
    [("viewer", 1, 0, 0), ("reviewer", 1, 1, 0), ("editor", 1, 0, 1), ("admin", 1, 1, 1), ("", 0, 0, 0)],
)
def test_who_may_what(
    person: Person, judge: ScriptedJudge, role: str, sees: bool, labels: bool, edits: bool
) -> None:
    version = examples_of("One.", "Two.")
    client = person(role) if role else person()
    one = version.examples.first()
    factories.label(one, "zoe")

    def allowed(status: int) -> bool:
        assert status in (200, 303, 403), status
        return status != 403

    pages = ["/judges/", CRITERION, f"{CRITERION}examples/", f"/judges/examples/{one.pk}/"]
    assert [allowed(client.get(page).status_code) for page in pages] == [bool(sees)] * 4
    assert allowed(client.get(LABEL).status_code) is bool(labels)
    sent = {"example": one.pk, "label": "PASS"}
    assert allowed(client.post(LABEL, sent).status_code) is bool(labels)
    forms = ["/judges/new/", "/judges/import/", f"{CRITERION}rubric/", f"{CRITERION}import/"]
    assert [allowed(client.get(page).status_code) for page in forms] == [bool(edits)] * 4
    assert allowed(client.post(f"{CRITERION}calibrate/").status_code) is bool(edits)
    assert allowed(client.post(f"{CRITERION}look/").status_code) is bool(labels)
    assert Calibration.objects.count() == int(edits)
    assert Label.objects.filter(person__username=role or "nobody").count() == int(labels)


def test_nobody_is_let_in_without_a_login(client: Client) -> None:
    assert client.get("/judges/").status_code == 302
    assert client.post(LABEL).status_code == 303


# ------------------------------------------------------------------------------------ criteria


def test_a_criterion_is_made_and_its_rubric_changed_in_the_browser(person: Person) -> None:
    editor = person("editor")
    made = editor.post("/judges/new/", {"name": "handover", "rubric": "One.\r\nTwo."})
    assert made.status_code == 303
    assert made["Location"] == f"{CRITERION}?version=1"
    assert Criterion.objects.get().current_version.rubric == "One.\nTwo."
    editor.post(f"{CRITERION}rubric/", {"rubric": "Three.", "name": "another"})
    assert str(Criterion.objects.get().current_version) == "handover version 2"
    page = text(editor.get(f"{CRITERION}?version=1"))
    assert "not the current rubric" in page


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"name": "a/b", "rubric": "x"}, "must begin with a letter or digit"),
        ({"name": "a", "rubric": " "}, "This field is required"),
        ({"name": "", "rubric": "x" * 10_001}, "10000 characters"),
    ],
)
def test_a_criterion_that_does_not_hold_comes_back(person: Person, sent: dict[str, str], told: str) -> None:
    answer = person("editor").post("/judges/new/", sent)
    assert answer.status_code == 422
    assert told in text(answer)
    assert not Criterion.objects.exists()


def test_the_list_says_what_the_judge_is_worth_and_what_is_left_for_me(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = good_and_bad(10, 10)
    label_all(version, people("ann"))
    calibration_of(version)
    examples_of("One.", criterion="tone", rubric="It is polite.")
    page = text(person("reviewer").get("/judges/"))
    assert "20 left to label" in page
    assert "Calibrated: it agrees with people on 20 of 20 examples" in page
    assert "Uncalibrated: this judge was never calibrated for tone." in page


def test_lists_cost_the_same_however_long_they_are(
    person: Person, people: People, judge: ScriptedJudge, django_assert_num_queries: Any
) -> None:
    reviewer = person("reviewer")
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    label_all(version, people("ben"), wrong=1)
    calibration = calibration_of(version)
    addresses = ["/judges/", CRITERION, f"{CRITERION}examples/", calibration.get_absolute_url()]

    def costs() -> list[int]:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        counted = []
        for address in addresses:
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert reviewer.get(address).status_code == 200
            counted.append(len(queries))
        return counted

    reviewer.get("/judges/")
    before = costs()
    more = examples_of(*(f"A colleague has it, again {number}." for number in range(30)))
    label_all(more, people("ann"))
    calibration_of(more)
    for number in range(5):
        examples_of("One.", criterion=f"criterion {number}")
    assert costs() == before
    assert max(before) <= 16


# ----------------------------------------------------------------------------------- importing


def test_a_file_is_imported_and_says_what_became_of_it(person: Person) -> None:
    editor = person("editor")
    document = "criterion: handover\nrubric: It says so.\nexamples: [{answer: One.}, {answer: Two.}]\n"
    answer = editor.post("/judges/import/", {"file": _file("a.yaml", document)}, follow=True)
    assert "2 new examples for handover version 1." in text(answer)
    lines = _file("more.jsonl", '{"answer": "Two."}\n{"answer": "Three."}\n')
    answer = editor.post(f"{CRITERION}import/", {"file": lines}, follow=True)
    assert "1 new example for handover version 1, 1 was there already." in text(answer)
    assert Example.objects.order_by("pk").last().source == "from more.jsonl"


def test_every_problem_of_a_text_is_shown_with_its_line_and_nothing_is_stored(person: Person) -> None:
    sent = {"text": '{"answer": "One."}\n{"answr": 1}\nnonsense', "kind": "jsonl"}
    examples_of("Zero.")
    answer = person("editor").post(f"{CRITERION}import/", sent)
    assert answer.status_code == 422
    page = text(answer)
    assert "Nothing was imported: 3 problems." in page
    assert "line 2: answer: is required" in page
    assert "line 3: $:" in page
    assert "nonsense" in page, "what was typed is still there"
    assert Example.objects.count() == 1


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "Give a file or a text: neither was given."),
        ({"text": "x", "file": "y"}, "Give a file or a text: a file and a text were given."),
    ],
)
def test_a_file_or_a_text_is_needed(person: Person, sent: dict[str, str], told: str) -> None:
    if "file" in sent:
        sent = {**sent, "file": _file("a.yaml", sent["file"])}
    answer = person("editor").post("/judges/import/", sent)
    assert answer.status_code == 422
    assert told in text(answer)


def test_examples_of_older_words_are_taken_over_without_labels(person: Person, people: People) -> None:
    label_all(good_and_bad(2, 1), people("ann"))
    editor = person("editor")
    editor.post(f"{CRITERION}rubric/", {"rubric": "Other words."})
    answer = editor.post(f"{CRITERION}carry-over/", {"version": "2"}, follow=True)
    assert "3 examples taken over into handover version 2, without labels." in text(answer)
    assert "Nobody has labelled them yet." in text(answer)


def _file(name: str, content: str) -> io.BytesIO:
    file = io.BytesIO(content.encode())
    file.name = name
    return file


# ----------------------------------------------------------------------------------- labelling


def test_labelling_works_without_javascript_one_example_after_the_other(person: Person) -> None:
    version = examples_of("First answer.", "Second answer.")
    first, second = version.examples.order_by("pk")
    reviewer = person("reviewer")
    page = text(reviewer.get(LABEL))
    assert "First answer." in page
    assert "Second answer." not in page, "one at a time"
    assert "0 of 2 labelled by you" in page

    answer = reviewer.post(LABEL, {"version": 1, "example": first.pk, "label": "PASS"})
    assert answer.status_code == 303
    page = text(reviewer.get(answer["Location"]))
    assert "Second answer." in page
    assert "Take it back" in page
    reviewer.post(LABEL, {"version": 1, "example": second.pk, "label": "FAIL"})
    assert "All labelled" in text(reviewer.get(LABEL))
    assert dict(Label.objects.values_list("example", "label")) == {first.pk: "PASS", second.pk: "FAIL"}


def test_htmx_gets_the_next_example_alone_and_focus_and_words_with_it(person: Person) -> None:
    version = examples_of("First answer.", "Second answer.")
    first = version.examples.order_by("pk").first()
    reviewer = person("reviewer")
    answer = reviewer.post(LABEL, {"example": first.pk, "label": "PASS"}, headers=HTMX)
    assert answer.status_code == 200
    page = text(answer)
    assert page.lstrip().startswith("<section")
    assert "Second answer." in page
    assert 'data-focus="always"' in page
    assert "Labelled PASS. 1 of 2 labelled." in page
    assert answer["HX-Replace-Url"] == f"{LABEL}?version=1&after={first.pk}&last={first.pk}"
    assert "HX-Request" in answer["Vary"]


def test_a_slip_is_taken_back_and_shown_again(person: Person) -> None:
    version = examples_of("First answer.", "Second answer.")
    first = version.examples.order_by("pk").first()
    reviewer = person("reviewer")
    reviewer.post(LABEL, {"example": first.pk, "label": "FAIL"})
    answer = reviewer.post(f"{LABEL}undo/", {"example": first.pk}, follow=True)
    assert "Taken back" in text(answer)
    assert "First answer." in text(answer)
    assert not labelling.standing_labels().exists()
    refused = reviewer.post(f"{LABEL}undo/", {"example": first.pk})
    assert refused.status_code == 409


def test_an_unknown_label_or_example_is_refused(person: Person) -> None:
    version = examples_of("First answer.")
    other = examples_of("Elsewhere.", criterion="other").examples.get()
    reviewer = person("reviewer")
    first = version.examples.get()
    assert reviewer.post(LABEL, {"example": first.pk, "label": "MAYBE"}).status_code == 409
    for example in (other.pk, 10**17, "x", ""):
        assert reviewer.post(LABEL, {"example": example, "label": "PASS"}).status_code == 404
    assert reviewer.get(f"{LABEL}?version=9").status_code == 404
    assert reviewer.get(f"{LABEL}?version=x").status_code == 404
    assert not Label.objects.exists()


def test_no_page_shows_a_labeller_what_others_or_the_judge_say_before_both_are_in(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    """The only words of the other label and of the verdict are these badges and this reason."""
    version = examples_of("A colleague has it.")
    example = version.examples.get()
    label_all(version, people("ann"))
    calibration = calibration_of(version)
    reviewer = person("reviewer")
    example_page = example.get_absolute_url()
    addresses = [
        LABEL,
        CRITERION,
        f"{CRITERION}examples/",
        example_page,
        *(
            f"{calibration.get_absolute_url()}{query}"
            for query in ("", "?show=all", "?people=PASS&judge=PASS")
        ),
    ]
    for address in addresses:
        page = text(reviewer.get(address))
        assert "badge--pass" not in page, address
        assert "badge--fail" not in page, address
        assert "As it is written." not in page, address

    reviewer.post(LABEL, {"example": example.pk, "label": "FAIL"})
    page = text(reviewer.get(example_page))
    assert "badge--pass" in page
    assert "badge--fail" in page
    assert "As it is written." in page


def test_a_single_label_is_shown_to_nobody_on_the_page_of_its_example(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = examples_of("A colleague has it.")
    label_all(version, people("ann"))
    for role in ("viewer", "editor", "reviewer"):
        page = text(person(role).get(version.examples.get().get_absolute_url()))
        assert "badge--" not in page, role


def test_who_looks_sees_everything_and_labels_no_more(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = examples_of("A colleague has it.")
    label_all(version, people("ann"))
    calibration = calibration_of(version)
    reviewer = person("reviewer")
    hidden = text(reviewer.get(f"{calibration.get_absolute_url()}?show=all"))
    assert "1 is not shown" in hidden
    answer = reviewer.post(f"{CRITERION}look/", {"version": 1, "calibration": calibration.pk})
    assert answer["Location"] == calibration.get_absolute_url()
    assert "As it is written." in text(reviewer.get(f"{calibration.get_absolute_url()}?show=all"))
    assert "You do not label this version" in text(reviewer.get(LABEL))
    refused = reviewer.post(LABEL, {"example": version.examples.get().pk, "label": "PASS"})
    assert refused.status_code == 409


# -------------------------------------------------------------------------------- calibrations


def test_a_calibration_is_started_once_by_one_form(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    editor = person("editor")
    token = text(editor.get(CRITERION)).partition('name="form_token" value="')[2][:36]
    sent = {"version": 1, "form_token": token}
    first, again = (editor.post(f"{CRITERION}calibrate/", sent)["Location"] for _ in range(2))
    calibration = Calibration.objects.get()
    assert first == again == calibration.get_absolute_url()
    page = text(editor.get(first))
    assert "0 of 4 examples judged" in page
    assert "every 2s" in page

    run_calibration(calibration.pk)
    assert editor.post(f"{CRITERION}calibrate/", sent)["Location"] == first
    assert Calibration.objects.count() == 1


def test_progress_asks_again_until_it_has_ended(person: Person, people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    viewer, address = person("viewer"), reverse("evaluations:calibration_progress", args=[calibration.pk])
    assert viewer.get(address).status_code == 302
    running = viewer.get(address, headers={"HX-Request": "true"})
    assert "every 2s" in text(running)
    assert "HX-Refresh" not in running
    run_calibration(calibration.pk)
    ended = viewer.get(address, headers={"HX-Request": "true"})
    assert "every 2s" not in text(ended)
    assert ended["HX-Refresh"] == "true"


def test_the_report_says_decision_figures_matrix_and_disagreements(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = examples_of("A colleague has it.", "Done.", "It refuses: a colleague.", "Nobody knows.")
    label_all(version, people("ann"), wrong=1)
    labelling.add_label(example=version.examples.order_by("pk")[3], label="PASS", actor=people("ben"))
    calibration = calibration_of(version)
    page = " ".join(text(person("viewer").get(calibration.get_absolute_url())).split())
    assert "Not calibrated, because 3 examples are labelled (20 are needed)" in page
    assert "1 of 3 (33%)" in page
    assert "1 left out" in page
    assert "1, each counted as a disagreement" in page
    assert "Disagreements (2)" in page
    assert "refused: it declined" in page
    assert 'aria-label="1: people FAIL, judge PASS"' in page
    for example in version.examples.order_by("pk")[:3]:
        listed = f'href="{example.get_absolute_url()}"' in page
        assert listed is (example.material["answer"] != "Done.")
    left_out = text(person("viewer").get(f"{calibration.get_absolute_url()}?show=left_out"))
    assert "ann FAIL, ben PASS" in left_out
    assert "not asked" in left_out


def test_a_calibration_that_no_longer_counts_says_so(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = good_and_bad(10, 10)
    label_all(version, people("ann"))
    calibration = calibration_of(version)
    viewer = person("viewer")
    assert "so it is what its verdicts are worth" in text(viewer.get(calibration.get_absolute_url()))
    judge.identity = ScriptedJudge(model="two").identity
    page = text(viewer.get(calibration.get_absolute_url()))
    assert "This is not what counts now." in page
    assert "since then the model (one, now two) changed" in page
    assert "calibration stale" in text(viewer.get(CRITERION))


def test_a_calibration_that_failed_calibrates_nothing(
    person: Person, people: People, judge: ScriptedJudge
) -> None:
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    judge.identity = ScriptedJudge(model="two").identity
    run_calibration(calibration.pk)
    page = text(person("viewer").get(calibration.get_absolute_url()))
    assert "It could not be finished, so it calibrates nothing." in page
    assert "the judge is another one by now" in page


def test_nothing_labelled_cannot_be_calibrated_and_says_why(person: Person, judge: ScriptedJudge) -> None:
    examples_of("One.")
    answer = person("editor").post(f"{CRITERION}calibrate/", {"version": 1}, follow=True)
    assert "there is nothing to calibrate by" in text(answer)
    assert not Calibration.objects.exists()


@pytest.mark.parametrize(
    "address", ["/judges/criteria/nobody/", "/judges/examples/9/", "/judges/calibrations/9/"]
)
def test_what_does_not_exist_is_not_found(person: Person, address: str) -> None:
    assert person("viewer").get(address).status_code == 404
