"""The benchmark harness: what it reports, not how long anything takes."""

import importlib

import pytest

pytest.importorskip("psutil")

from benchmarks import report, topic_modules
from benchmarks.harness import Case, CaseReport, Contender, Row, growth_exponents, run_case


@pytest.fixture(scope="module")
def small_case():
    contenders = [
        Contender("ours", lambda: 3.0, error=lambda value: value / 2 - 1),
        Contender("sampled peer", lambda: sum(range(1000)), share=0.1, bar=1e-9, note="slow"),
        Contender("absent peer", lambda: None, requires="no_such_module"),
    ]
    return run_case(Case("Additions", "a few", lambda: contenders))


def test_first_contender_is_the_unit_and_errors_are_kept(small_case):
    ours = small_case.rows[0]
    assert ours.ratio == 1
    assert ours.error == 0.5
    assert ours.runs == 3


def test_missing_peer_is_named(small_case):
    assert small_case.rows[2].missing == "no_such_module"
    assert "missing: no_such_module is not installed" in report.as_text(small_case)


def test_scaled_rows_bars_and_notes_are_told(small_case):
    assert "bar 1e-09: met; scaled from 10 %; slow" in report.as_text(small_case)
    assert "bar" not in report.as_text(report.without_bars(small_case))


def test_growth_exponent_is_the_slope():
    cases = [
        CaseReport("Growth", str(n), "squares", n, [Row("ours", cpu=1e-6 * n**2), Row("absent")])
        for n in (10, 100, 1000)
    ]
    exponents = growth_exponents(cases)
    assert exponents["squares"] == {"ours": pytest.approx(2)}


def test_report_survives_json(small_case, tmp_path):
    measured = report.TopicReport(
        "sums", True, ("Additions", "ours"), {"machine": "x"}, [small_case]
    )
    report.save(measured, tmp_path / "sums.json")
    assert report.load(tmp_path / "sums.json") == measured
    assert "## Additions" in report.as_myst(measured)


@pytest.mark.parametrize("topic", topic_modules())
@pytest.mark.parametrize("quick", [True, False])
def test_topic_lists_cases_and_its_headline(topic, quick):
    module = importlib.import_module(topic_modules()[topic])
    assert module.HEADLINE[0] in {case.name for case in module.cases(quick)}


def test_gpu_table_runs_on_the_cpu_at_reduced_size(torch):
    gpu = importlib.import_module("benchmarks.gpu")
    rows = list(gpu.measure("cpu", quick=True))
    assert {topic for topic, _ in rows} == set(gpu.topics())
    assert all(row.seconds > 0 for _, row in rows)
