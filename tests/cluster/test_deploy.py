"""What can be checked of the deployment without machines to deploy to."""

import re
import tomllib
from pathlib import Path

import pytest

from onlooker.cluster.config import read_config

DEPLOY = Path(__file__).parents[2] / "deploy"


def cluster_yaml():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text())


def test_the_cluster_file_fits_rays_own_schema():
    pytest.importorskip("ray")
    jsonschema = pytest.importorskip("jsonschema")
    import json

    import ray

    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())
    jsonschema.validate(cluster_yaml(), schema)


def test_ray_itself_accepts_and_completes_the_cluster_file():
    pytest.importorskip("ray")
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(cluster_yaml())
    validate_config(prepared)
    assert prepared["max_workers"] == 2


def test_the_configuration_is_one_and_its_nodes_are_in_the_cluster():
    config = read_config(DEPLOY / "cluster.toml")
    provider = cluster_yaml()["provider"]
    machines = {provider["head_ip"], *provider["worker_ips"]}
    nodes = {camera.node for site in config.sites for camera in site.cameras}
    assert nodes <= machines
    assert str(config.folder) in " ".join(cluster_yaml()["docker"]["run_options"])


def test_the_container_file_installs_extras_that_exist_and_does_not_run_as_root():
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [row.split(None, 1) for row in lines if row.strip() and not row.startswith("#")]
    known = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "VOLUME", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in steps} <= known
    assert steps[0][0] == "FROM"
    assert not steps[0][1].endswith(":latest")
    installed = re.search(r'"\.\[([\w,]+)\]"', "\n".join(lines))[1].split(",")
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    assert set(installed) <= set(project["optional-dependencies"])
    assert [rest for word, rest in steps if word == "USER"] == ["onlooker"]
    for source in [part for word, rest in steps if word == "COPY" for part in rest.split()[:-1]]:
        assert (DEPLOY.parent / source).exists()
    assert "RAY_AUTH_MODE=token" in "\n".join(lines)
