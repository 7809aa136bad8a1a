"""Names of the environments, and where the classes are, for Gymnasium."""


def register() -> None:
    """Makes the environments known to Gymnasium, once."""
    from gymnasium.envs.registration import register, registry

    for name in ["Marking", "Threshold", "RedTuning"]:
        if f"Queuewright/{name}-v0" not in registry:
            register(
                id=f"Queuewright/{name}-v0",
                entry_point=f"queuewright.envs:{name}",
                vector_entry_point=f"queuewright.envs:{name}Vector",
            )
