"""Every expectation type of FORMATS 3.1. Importing the package registers them all, or fails loudly."""

from evaluations.grading.expectations import (  # noqa: F401  (importing a module registers its types)
    calls,
    claims,
    disclosure,
    effects,
    judged,
    limits,
    output,
    state,
)
from evaluations.grading.expectations.registry import (
    EXPECTATION_TYPES,
    CompiledExpectation,
    ExpectationType,
    compile_expectations,
    expectation_type,
    grade,
    result_of,
)

__all__ = [
    "EXPECTATION_TYPES",
    "CompiledExpectation",
    "ExpectationType",
    "compile_expectations",
    "expectation_type",
    "grade",
    "result_of",
]
