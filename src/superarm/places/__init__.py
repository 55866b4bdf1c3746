"""Places for the files of a study, a log or a catalogue: a folder, or a bucket at ``s3://``, ``gs://``, ``az://``."""
