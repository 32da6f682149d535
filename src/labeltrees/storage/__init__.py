"""Models on disk, and chunks: the classifiers of a tree in the memory layout of the search."""

from labeltrees._names import decode_names, encode_names
from labeltrees.storage.ceilings import logistic_ceilings
from labeltrees.storage.chunks import ChunkStore, LinearWeights, pack_chunks, pack_dense_chunks
from labeltrees.storage.format import FORMAT_VERSION, Manifest
from labeltrees.storage.load import LoadedModel, load_arrays
from labeltrees.storage.save import save_arrays

__all__ = [
    "FORMAT_VERSION",
    "ChunkStore",
    "LinearWeights",
    "LoadedModel",
    "Manifest",
    "decode_names",
    "encode_names",
    "load_arrays",
    "logistic_ceilings",
    "pack_chunks",
    "pack_dense_chunks",
    "save_arrays",
]
