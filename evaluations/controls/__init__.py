"""Agents that no suite may pass: each does one simple thing, whatever it is asked. Pure: no Django, no I/O.

A suite that one of them passes cannot tell a good agent from it, and lacks the kind of case that would.
"""

from evaluations.controls.agents import CONTROLS, Control, Offer, PlannedCall, Situation
from evaluations.controls.playing import Played, play

__all__ = ["CONTROLS", "Control", "Offer", "PlannedCall", "Played", "Situation", "play"]
