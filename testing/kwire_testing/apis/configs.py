"""DescribeConfigs: what CreateTopics has set, and a few defaults."""

from __future__ import annotations

from kwire_kafka import DescribeConfigsRequest, DescribeConfigsResponse
from kwire_kafka.api.describe_configs import (
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from kwire_kafka.enums import ConfigResourceType, ConfigSource, ConfigType
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.cluster import check_name
from kwire_testing.refusal import Refused

TOPIC = {"cleanup.policy": "delete", "max.message.bytes": "1048588", "retention.ms": "604800000"}
KINDS = {"cleanup.policy": ConfigType.LIST, "max.message.bytes": ConfigType.INT, "retention.ms": ConfigType.LONG}
BROKER = {"auto.create.topics.enable": "true", "default.replication.factor": "1", "num.partitions": "1"}


@answers(DescribeConfigsRequest, DescribeConfigsResponse)
def describe_configs(call: Call, request: DescribeConfigsRequest, response: DescribeConfigsResponse) -> None:
    """Answer with the settings of topics and brokers."""

    def describe(asked: DescribeConfigsResource, answer: DescribeConfigsResult) -> None:
        own: dict[str, str | None] = {}
        topics = asked.resource_type == ConfigResourceType.TOPIC
        if topics:
            check_name(asked.resource_name)
            defaults, own = TOPIC, call.topic(asked.resource_name).configs
        else:
            call.check()
            broker = asked.resource_type == ConfigResourceType.BROKER
            if not broker or asked.resource_name not in ("", str(call.node)):
                raise Refused(ErrorCode.INVALID_REQUEST)
            defaults = BROKER | {"auto.create.topics.enable": str(call.cluster.auto_create).lower()}
        answer.configs = [
            DescribeConfigsResourceResult(
                name=name,
                value=value,
                config_source=ConfigSource.TOPIC_CONFIG if name in own else ConfigSource.DEFAULT_CONFIG,
                read_only=not topics,
                config_type=KINDS.get(name, ConfigType.UNKNOWN),
                documentation=None,
            )
            for name, value in {**defaults, **own}.items()
            if not asked.configuration_keys or name in asked.configuration_keys
        ]

    response.results = call.each(request.resources, DescribeConfigsResult, describe)
