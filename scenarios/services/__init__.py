"""What is done with scenarios and datasets. Each service is one transaction."""

from scenarios.services.scenarios import named_twin, save_scenario, scenario_of, scenario_problems

__all__ = ["named_twin", "save_scenario", "scenario_of", "scenario_problems"]
