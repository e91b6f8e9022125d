"""Groups of the classic kind; lists and removal of groups of any kind."""

from __future__ import annotations

from collections.abc import Callable

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
from kwire_testing.groups import EMPTY, ClassicGroup
from kwire_testing.refusal import Refused


@answers(JoinGroupRequest)
async def join_group(call: Call, request: JoinGroupRequest) -> JoinGroupResponse:
    """Let a member join, and answer when all have."""
    try:
        group = call.group(request.group_id).classic()
        return await group.join(request, call.version, call.client_id, call.host)
    except Refused as refusal:
        return JoinGroupResponse(
            error_code=refusal.error, generation_id=-1, protocol_name="", member_id=request.member_id
        )


@answers(SyncGroupRequest)
async def sync_group(call: Call, request: SyncGroupRequest) -> SyncGroupResponse:
    """Answer with the assignment of a member."""
    return await call.group(request.group_id).classic().sync(request)


@answers(HeartbeatRequest)
def heartbeat(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    """Keep the session of a member."""
    group = call.group(request.group_id).classic()
    group.heartbeat(request.member_id, request.generation_id, request.group_instance_id)
    return HeartbeatResponse()


@answers(LeaveGroupRequest)
def leave_group(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    """Remove members."""
    group = call.group(request.group_id).classic()
    if call.version < 3:
        group.leave(request.member_id, None)
        return LeaveGroupResponse()

    def left(member: MemberIdentity) -> MemberResponse:
        error = _error(lambda: group.leave(member.member_id, member.group_instance_id))
        return MemberResponse(
            member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error
        )

    return LeaveGroupResponse(members=[left(member) for member in request.members])


@answers(ListGroupsRequest)
def list_groups(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    """Answer with the groups that this node coordinates."""
    call.check()
    here = [group for group in call.cluster.groups.values() if call.cluster.coordinator(group.name).id == call.node]
    listed = [
        ListedGroup(
            group_id=group.name, protocol_type=group.protocol_type, group_state=group.state, group_type=group.kind
        )
        for group in here
    ]
    return ListGroupsResponse(
        groups=[
            group
            for group in listed
            if group.group_state.lower() in [name.lower() for name in request.states_filter or [group.group_state]]
            and group.group_type.lower() in [name.lower() for name in request.types_filter or [group.group_type]]
        ]
    )


@answers(DescribeGroupsRequest)
def describe_groups(call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """Answer with the members of classic groups."""
    return DescribeGroupsResponse(groups=[_described(call, name) for name in request.groups])


def _described(call: Call, name: str) -> DescribedGroup:
    try:
        call.coordinate(name)
        group = call.cluster.groups.get(name)
        if group is None or group.kind != "classic":
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    except Refused as refusal:
        found = refusal.error == ErrorCode.GROUP_ID_NOT_FOUND and call.version < 6
        error = ErrorCode.NONE if found else refusal.error
        return DescribedGroup(group_id=name, error_code=error, group_state="Dead")
    members = group.members if isinstance(group.members, ClassicGroup) else ClassicGroup(group.clock)
    return DescribedGroup(
        group_id=name,
        group_state=members.state,
        protocol_type=members.protocol_type,
        protocol_data=members.protocol or "",
        members=[
            DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance,
                client_id=member.client_id,
                client_host=f"/{member.host}",
                member_metadata=member.protocols.get(members.protocol or "", b""),
                member_assignment=member.assignment,
            )
            for member in members.members.values()
        ],
    )


@answers(DeleteGroupsRequest)
def delete_groups(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """Remove groups without members."""

    def delete(name: str) -> None:
        call.coordinate(name)
        if name not in call.cluster.groups:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        if call.cluster.groups[name].state != EMPTY:
            raise Refused(ErrorCode.NON_EMPTY_GROUP)
        del call.cluster.groups[name]

    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=name, error_code=_error(lambda name=name: delete(name)))  # type: ignore[misc]
            for name in request.groups_names
        ]
    )


def _error(what: Callable[[], None]) -> ErrorCode:
    try:
        what()
    except Refused as refusal:
        return refusal.error
    return ErrorCode.NONE
