"""Updates of pods that are refused, and how the server shows what they would have changed."""

from __future__ import annotations

import pytest

from support.arms import Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import pod
from support.arms_scene import Scene
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE

MAY_NOT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
NAMES = """\
@@ -64,10 +64,14 @@
   "SELinuxChangePolicy": null
  },
  "ImagePullSecrets": null,
- "Hostname": "",
+ "Hostname": "x",
  "Subdomain": "",
  "SetHostnameAsFQDN": null,
- "Affinity": null,
+ "Affinity": {
+  "NodeAffinity": null,
+  "PodAffinity": null,
+  "PodAntiAffinity": null
+ },
  "SchedulerName": "nobody",
  "Tolerations": [
   {
"""
SELECTOR = """\
@@ -39,7 +39,10 @@
  "TerminationGracePeriodSeconds": 30,
  "ActiveDeadlineSeconds": null,
  "DNSPolicy": "ClusterFirst",
- "NodeSelector": null,
+ "NodeSelector": {
+  "a": "b",
+  "z": "y"
+ },
  "ServiceAccountName": "here",
  "AutomountServiceAccountToken": null,
  "NodeName": "",
"""
HOST = """\
@@ -44,10 +44,10 @@
  "AutomountServiceAccountToken": null,
  "NodeName": "",
  "SecurityContext": {
-  "HostNetwork": false,
+  "HostNetwork": true,
   "HostPID": false,
   "HostIPC": false,
-  "ShareProcessNamespace": null,
+  "ShareProcessNamespace": true,
   "HostUsers": null,
   "SELinuxOptions": null,
   "WindowsOptions": null,
"""
ENVIRONMENT = """\
@@ -10,7 +10,23 @@
    "WorkingDir": "",
    "Ports": null,
    "EnvFrom": null,
-   "Env": null,
+   "Env": [
+    {
+     "Name": "A",
+     "Value": "",
+     "ValueFrom": {
+      "FieldRef": null,
+      "ResourceFieldRef": {
+       "ContainerName": "",
+       "Resource": "limits.cpu",
+       "Divisor": "0"
+      },
+      "ConfigMapKeyRef": null,
+      "SecretKeyRef": null,
+      "FileKeyRef": null
+     }
+    }
+   ],
    "Resources": {
     "Limits": null,
     "Requests": null,
"""
SOURCE = {"resourceFieldRef": {"resource": "limits.cpu"}}
CONTAINER = {"name": "c", "image": "other", "env": [{"name": "A", "valueFrom": SOURCE}]}


@pytest.mark.parametrize(
    ("spec", "difference"),
    [
        ({"hostname": "x", "affinity": {}}, NAMES),
        ({"nodeSelector": {"z": "y", "a": "b"}}, SELECTOR),
        ({"hostNetwork": True, "shareProcessNamespace": True}, HOST),
        ({"containers": [CONTAINER]}, ENVIRONMENT),
    ],
    ids=["names", "selector", "host", "environment"],
)
async def test_a_refused_change_is_shown(scene: Scene, spec: Obj, difference: str) -> None:
    await scene.given(PODS, pod("p", serviceAccountName="here"))
    answer = await scene.patch(PODS, "p", {"spec": spec})
    answer.refused(422, "Invalid", f'Pod "p" is invalid: spec: Forbidden: {MAY_NOT}\n{difference}')


async def test_a_gate_that_comes_twice_is_told_once(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    answer = await scene.patch(PODS, "p", {"spec": {"schedulingGates": [{"name": "a"}, {"name": "a"}]}})
    new = "Forbidden: only deletion is allowed, but found new scheduling gate 'a'"
    found = ('spec.schedulingGates[1]: Duplicate value: "a"', f"spec.schedulingGates[1].name: {new}")
    answer.refused(422, "Invalid", faults=found)
