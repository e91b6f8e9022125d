"""Groups of the classic kind; lists and removal of groups of any kind."""

from __future__ import annotations

from kwire_kafka import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kwire_kafka.api.delete_groups import DeletableGroupResult
from kwire_kafka.api.describe_groups import DescribedGroup, DescribedGroupMember
from kwire_kafka.api.leave_group import MemberIdentity, MemberResponse
from kwire_kafka.api.list_groups import ListedGroup
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.groups import EMPTY, STABLE, ClassicGroup
from kwire_testing.refusal import Refused


@answers(JoinGroupRequest, JoinGroupResponse)
async def join_group(call: Call, request: JoinGroupRequest, response: JoinGroupResponse) -> None:
    """Let a member join, and answer when all have."""
    response.generation_id, response.member_id = -1, request.member_id
    response.protocol_name = None if call.version >= 7 else ""
    group = call.group(request.group_id).classic()
    await group.join(request, response, call.version, call.client_id or "", call.host)


@answers(SyncGroupRequest, SyncGroupResponse)
async def sync_group(call: Call, request: SyncGroupRequest, response: SyncGroupResponse) -> None:
    """Answer with the assignment of a member."""
    await call.group(request.group_id).classic().sync(request, response)


@answers(HeartbeatRequest, HeartbeatResponse)
def heartbeat(call: Call, request: HeartbeatRequest, response: HeartbeatResponse) -> None:
    """Keep the session of a member."""
    group = call.group(request.group_id).classic()
    group.heartbeat(request.member_id, request.generation_id, request.group_instance_id)


@answers(LeaveGroupRequest, LeaveGroupResponse)
def leave_group(call: Call, request: LeaveGroupRequest, response: LeaveGroupResponse) -> None:
    """Remove members."""
    group = call.group(request.group_id).classic()

    def leave(member: MemberIdentity, answer: MemberResponse) -> None:
        group.leave(member.member_id, member.group_instance_id)

    if call.version < 3:
        group.leave(request.member_id, None)
    response.members = call.each(request.members, MemberResponse, leave)


@answers(ListGroupsRequest, ListGroupsResponse)
def list_groups(call: Call, request: ListGroupsRequest, response: ListGroupsResponse) -> None:
    """Answer with the groups that this node coordinates."""
    call.check()
    states, types = ([name.lower() for name in names] for names in (request.states_filter, request.types_filter))
    response.groups = [
        ListedGroup(
            group_id=group.name, protocol_type=group.protocol_type, group_state=group.state, group_type=group.kind
        )
        for group in call.cluster.groups.values()
        if group.exists
        and call.cluster.coordinator(group.name).id == call.node
        and (not states or group.state.lower() in states)
        and (not types or group.kind in types)
    ]


@answers(DescribeGroupsRequest, DescribeGroupsResponse)
def describe_groups(call: Call, request: DescribeGroupsRequest, response: DescribeGroupsResponse) -> None:
    """Answer with the members of classic groups."""

    def describe(name: str, answer: DescribedGroup) -> None:
        answer.group_state = "Dead"
        call.coordinate(name)
        group = call.cluster.group(name)
        if group is None or group.kind != "classic":
            if call.version < 6:
                return
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        answer.group_state, answer.protocol_type = group.state, group.protocol_type
        if isinstance(group.members, ClassicGroup):
            protocol = answer.protocol_data = (group.members.protocol or "") if group.state == STABLE else ""
            answer.members = [
                DescribedGroupMember(
                    member_id=member.id,
                    group_instance_id=member.instance,
                    client_id=member.client_id,
                    client_host=f"/{member.host}",
                    member_metadata=member.protocols.get(protocol, b""),
                    member_assignment=member.assignment,
                )
                for member in group.members.members.values()
            ]

    response.groups = call.each(request.groups, DescribedGroup, describe)


@answers(DeleteGroupsRequest, DeleteGroupsResponse)
def delete_groups(call: Call, request: DeleteGroupsRequest, response: DeleteGroupsResponse) -> None:
    """Remove groups without members."""

    def delete(name: str, answer: DeletableGroupResult) -> None:
        call.coordinate(name)
        group = call.cluster.group(name)
        if group is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        if group.state != EMPTY:
            raise Refused(ErrorCode.NON_EMPTY_GROUP)
        del call.cluster.groups[name]

    response.results = call.each(request.groups_names, DeletableGroupResult, delete)
