"""Adapters to the RL engines: thin, one file each. `cooper.integrations.trl` is for TRL."""
