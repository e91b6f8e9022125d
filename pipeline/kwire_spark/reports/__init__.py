"""Reports: who breaks on a release, who speaks what, how long it takes, what groups have committed."""
