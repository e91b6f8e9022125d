"""Pydantic models of single versions, for the codecs of kwire_kafka."""
