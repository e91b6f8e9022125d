"""DescribeConfigs: what CreateTopics has set, and a few defaults."""

from __future__ import annotations

from kwire_kafka import DescribeConfigsRequest, DescribeConfigsResponse
from kwire_kafka.api.describe_configs import (
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from kwire_kafka.enums import ConfigResourceType, ConfigSource
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.refusal import Refused

TOPIC = {"cleanup.policy": "delete", "max.message.bytes": "1048588", "retention.ms": "604800000"}
BROKER = {"auto.create.topics.enable": "true", "default.replication.factor": "1", "num.partitions": "1"}


@answers(DescribeConfigsRequest)
def describe_configs(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Answer with the settings of topics and brokers."""
    return DescribeConfigsResponse(results=[_described(call, one) for one in request.resources])


def _described(call: Call, asked: DescribeConfigsResource) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=asked.resource_type, resource_name=asked.resource_name)
    own: dict[str, str | None] = {}
    try:
        if asked.resource_type == ConfigResourceType.TOPIC:
            defaults, own = TOPIC, call.topic(asked.resource_name).configs
        elif asked.resource_type == ConfigResourceType.BROKER:
            call.check()
            defaults = BROKER | {"auto.create.topics.enable": str(call.cluster.auto_create).lower()}
        else:
            call.check()
            raise Refused(ErrorCode.INVALID_REQUEST)
    except Refused as refusal:
        result.error_code, result.error_message = refusal.error, str(refusal)
        return result
    for name, value in {**defaults, **own}.items():
        if asked.configuration_keys is None or name in asked.configuration_keys:
            config = DescribeConfigsResourceResult(name=name, value=value)
            config.config_source = ConfigSource.TOPIC_CONFIG if name in own else ConfigSource.DEFAULT_CONFIG
            config.is_default = call.version == 0 and name not in own
            result.configs.append(config)
    return result
