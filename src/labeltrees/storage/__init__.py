"""Models on disk, and chunks: the classifiers of a tree in the memory layout of the search."""

from labeltrees._names import decode_names, encode_names
from labeltrees.storage.chunks import ChunkStore, LinearWeights, logistic_ceilings, pack_chunks, pack_dense_chunks
from labeltrees.storage.folder import FORMAT_VERSION, LoadedModel, Manifest, load_arrays, save_arrays

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
