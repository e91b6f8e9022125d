"""What is known of releases without definitions is compared with what their classes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwirec.merge.history import ApiFacts
from tools import older_releases
from tools.older_releases import Facts, differences, facts_of

JAVAP = {
    "kafka.api.RequestKeys$": """
       9: iconst_0
      10: putfield      #26                 // Field ProduceKey:S
      14: bipush        7
      16: putfield      #28                 // Field ControlledShutdownKey:S
      19: bipush        11
      21: putfield      #28                 // Field JoinGroupKey:S
""",
    "kafka.api.ProducerRequest$": """
      12: iconst_1
      13: invokevirtual #212                // Method scala/Predef$.int2Integer:(I)Ljava/lang/Integer;
      16: invokevirtual #217                // Method java/lang/Integer.shortValue:()S
      19: putfield      #23                 // Field CurrentVersion:S
""",
    "kafka.api.ControlledShutdownRequest$": """
      12: iconst_0
      19: putfield      #23                 // Field CurrentVersion:S
""",
    "kafka.server.KafkaApis": """
  public void handle(kafka.network.RequestChannel$Request);
      22: invokevirtual #216                // Method kafka/api/RequestKeys$.ProduceKey:()S
      46: invokevirtual #222                // Method kafka/api/RequestKeys$.ControlledShutdownKey:()S

  public void other();
      46: invokevirtual #222                // Method kafka/api/RequestKeys$.JoinGroupKey:()S
""",
}


def test_a_broker_of_its_own_code_accepts_what_it_handles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its table names JoinGroup, which no handler answers."""
    monkeypatch.setattr(older_releases, "_javap", lambda broker, name: JAVAP.get(name, ""))
    both = frozenset({0, 1})
    assert facts_of("0.8.2.2", tmp_path) == {0: (both, both), 7: (frozenset({0}), frozenset({0}))}


def test_a_difference_says_what_the_classes_have() -> None:
    found: Facts = {0: (frozenset({0, 1, 2}), frozenset({1, 2})), 3: (frozenset({0}), frozenset({0}))}
    said = {0: ApiFacts("Produce", "0-1", advertises="1-2"), 3: ApiFacts("Metadata", "0"), 11: ApiFacts("Join", "0")}
    assert list(differences(said, found)) == [
        "API 0 (Produce) accepts 0-2, not 0-1",
        "API 11 (Join) accepts nothing, not 0",
        "API 11 (Join) advertises nothing, not 0",
    ]
