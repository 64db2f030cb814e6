"""The seal of a blind decision: what stands in the audit log while nobody may know what was decided."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviews.models import BlindDecision


def seal_of(given: BlindDecision) -> str:
    """SHA-256 over the decision, its note, its place and its salt, as canonical JSON.

    The salt is random, so nobody can find out what is sealed by trying both decisions.
    """
    content = {
        "double_review": given.double_review_id,
        "position": given.position,
        "reviewer": given.reviewer_id,
        "decision": given.decision,
        "note": given.note,
        "salt": given.salt,
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
