"""Jobs and CronJobs through kubectl: create, wait, describe, from a template, delete."""

from __future__ import annotations

import pytest

from support.kubectl import Kubectl

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=1)]


def test_a_job_is_created_awaited_and_deleted_with_its_pods(k: Kubectl) -> None:
    k("create job pi --image=pi:1 -- compute 100").printed("job.batch/pi created")
    k("wait --for=condition=complete job/pi --timeout=60s").printed("job.batch/pi condition met")
    (row,) = k("get jobs").rows()
    assert (row["NAME"], row["STATUS"], row["COMPLETIONS"]) == ("pi", "Complete", "1/1")
    (pod,) = k("get pods -l job-name=pi").rows()
    assert pod["STATUS"] == "Completed"
    description = k("describe job pi").ok()
    assert "1 Succeeded / 0 Failed" in description
    assert "Completed" in description
    k("delete job pi").ok()
    k("wait --for=delete pod -l job-name=pi --timeout=60s").ok()


def test_a_cron_job_is_the_template_of_jobs(k: Kubectl) -> None:
    k("create cronjob nightly --image=copy:1 --schedule='0 3 1 1 *' -- copy").printed(
        "cronjob.batch/nightly created"
    )
    (row,) = k("get cronjobs").rows()
    assert (row["NAME"], row["SCHEDULE"], row["SUSPEND"]) == ("nightly", "0 3 1 1 *", "False")
    k("create job now --from=cronjob/nightly").printed("job.batch/now created")
    k("wait --for=condition=complete job/now --timeout=60s").ok()
    owner = k("get job now -o jsonpath='{.metadata.ownerReferences[0].name}'").ok()
    assert owner == "nightly"
    k("delete cronjob nightly").ok()
    k("wait --for=delete job/now --timeout=60s").ok()
