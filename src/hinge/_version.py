"""Version of the package. It is written here because reading the metadata of the installation takes 20 ms."""

__version__ = "0.1.0"
