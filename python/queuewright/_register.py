"""Names of the environments, and where the classes are, for Gymnasium."""


def register() -> None:
    """Makes the environments known to Gymnasium, once."""
    from gymnasium.envs.registration import register, registry

    if "Queuewright/Marking-v0" not in registry:
        register(
            id="Queuewright/Marking-v0",
            entry_point="queuewright.envs:Marking",
            vector_entry_point="queuewright.envs:MarkingVector",
        )
