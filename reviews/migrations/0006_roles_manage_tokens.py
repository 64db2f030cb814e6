"""The role admin sees the tokens of others and may revoke them (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

GRANTED = {"admin": ("reviews.view_apitoken", "reviews.change_apitoken")}


class Migration(migrations.Migration):
    dependencies = [("reviews", "0005_api_tokens")]
    operations = [granting(GRANTED)]
