"""Which candidates a dataset has been used on."""

from django.db import models


class DatasetUse(models.Model):
    """One comparison on a frozen dataset: what is used often is learned, a holdout above all."""

    dataset_version = models.ForeignKey(
        "scenarios.DatasetVersion", on_delete=models.PROTECT, related_name="uses"
    )
    # The candidate that was measured.
    agent_version = models.ForeignKey("AgentVersion", on_delete=models.PROTECT, related_name="dataset_uses")
    comparison = models.OneToOneField("Comparison", on_delete=models.PROTECT, related_name="dataset_use")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.dataset_version} on {self.agent_version}"
