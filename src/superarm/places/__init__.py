"""Where files of a study, a log or a catalogue lie: a folder of this machine, or ``s3://``, ``gs://``, ``az://``."""
