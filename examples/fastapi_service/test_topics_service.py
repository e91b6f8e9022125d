"""Tests the service against a broker in memory."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from topics_service import app

from kwire_testing import FakeBroker


@pytest.fixture
def service(kafka_broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("BROKER", kafka_broker.bootstrap_servers)
    return TestClient(app)


def body(partitions: object) -> dict[str, object]:
    topic = {"name": "orders", "numPartitions": partitions, "replicationFactor": 1, "assignments": [], "configs": []}
    return {"topics": [topic], "timeoutMs": 5000, "validateOnly": False}


def test_a_topic_is_created_once(service: TestClient, kafka_broker: FakeBroker) -> None:
    first, second = (service.post("/topics", json=body(3)).json()["topics"][0] for _ in range(2))
    assert (first["errorCode"], first["numPartitions"]) == (0, 3)
    assert second["errorCode"] == 36  # TOPIC_ALREADY_EXISTS
    assert list(kafka_broker.records("orders")) == []


@pytest.mark.slow
@pytest.mark.parametrize("partitions", ["3", 1 << 31, None])
def test_a_wrong_body_reaches_no_broker(service: TestClient, partitions: object) -> None:
    refused = service.post("/topics", json=body(partitions))
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["body", "topics", 0, "numPartitions"]


@pytest.mark.slow
def test_the_page_of_the_service_has_the_fields_of_the_message(service: TestClient) -> None:
    schemas = service.get("/openapi.json").json()["components"]["schemas"]
    assert set(schemas["CreateTopicsRequestV7"]["properties"]) == {"topics", "timeoutMs", "validateOnly"}
