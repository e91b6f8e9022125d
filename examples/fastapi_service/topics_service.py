"""``POST /topics`` forwards a CreateTopics request to a broker and returns its response."""

from __future__ import annotations

import os

from fastapi import FastAPI, HTTPException
from wire_models.create_topics_request import CreateTopicsRequestV7
from wire_models.create_topics_response import CreateTopicsResponseV7

from kwire.client import connect, parse_address
from kwire_kafka import PROTOCOL, CreateTopicsResponse

app = FastAPI(title="Topics")


@app.post("/topics")
async def create_topics(body: CreateTopicsRequestV7) -> CreateTopicsResponseV7:
    """Create topics on the broker that the variable BROKER names."""
    if not body.topics:
        raise HTTPException(422, "no topics")
    async with await connect(*parse_address(os.environ["BROKER"]), PROTOCOL, client_id="topics") as client:
        answer = await client.call(body.to_codec(), version=body.VERSION)
    return CreateTopicsResponseV7.from_codec(answer.expect(CreateTopicsResponse))
