"""Types of the native module. Made by scripts/make_stub.py: do not edit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt8s = NDArray[np.uint8]
UInt16s = NDArray[np.uint16]
UInt64s = NDArray[np.uint64]
Progress = Callable[[int], object] | None
# Labels and scores (n * k,), and chunks, classifiers, depth, microseconds, partial and no_features (n,).
NativeResults = tuple[Int64s, Float32s, tuple[Int64s, Int64s, Int32s, Float32s, UInt8s, UInt8s] | None]

def xxh64(bytes: UInt8s) -> int: ...

class Xxh64:
    def __init__(self) -> None: ...
    def add(self, bytes: UInt8s) -> None: ...
    def finish(self, bytes: UInt8s) -> int: ...

def copy_to_huge_pages(bytes: UInt8s) -> UInt8s: ...
def zero_floats(n: int) -> Float32s: ...
def exchange_paths(first: str, second: str) -> int: ...
def available_kernels() -> list[str]: ...
def active_kernels() -> str: ...
def use_kernels(name: str) -> bool: ...
def gather_dot(columns: Int32s, values: Float32s, dense: Float32s) -> float: ...
def gather_dot_pairs(columns: Int32s, values: Float32s, pairs: Float32s) -> tuple[float, float]: ...
def dense_dot(a: Float32s, b: Float32s) -> float: ...
def sum_present(row: UInt64s, query: UInt64s, weights: UInt16s) -> float: ...

class XmcParser:
    def __init__(self, index_base: int) -> None: ...
    def feed(self, block: bytes) -> None: ...
    def finish(self) -> None: ...
    @property
    def n_points(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def one_based(self) -> bool: ...
    @property
    def top_line(self) -> int: ...
    @property
    def n_in_hand(self) -> int: ...
    def take_block(self) -> tuple[Float32s, Int32s, Int64s, Int32s, Int64s]: ...

def write_xmc_lines(
    first: int, last: int, feature_ptr: Int64s, features: Int32s, values: Float32s, label_ptr: Int64s, labels: Int32s
) -> bytes: ...

UNICODE_VERSION: str = "14.0.0"

class TextAnalyzer:
    def __init__(
        self,
        kind: str,
        min_n: int,
        max_n: int,
        lowercase: bool,
        strip: str,
        stop_text: UInt8s,
        stop_ends: Int64s,
        encoding: str,
        errors: str,
        nfc: bool,
        prepare: object | None,
        prepares_any: bool,
    ) -> None: ...
    def preprocess(self, text: object) -> str: ...
    def terms(self, text: object) -> list[str]: ...

class TextStemmer:
    def __init__(self, words: TextAnalyzer, stem_words: object) -> None: ...

def learn_terms(
    analyzer: TextAnalyzer,
    texts: object,
    min_texts: float,
    max_texts: float,
    min_is_share: bool,
    max_is_share: bool,
    n_threads: int,
    progress: Progress,
) -> tuple[UInt8s, Int64s, Int64s, Int64s, int, int]: ...

class TextVectorizer:
    def __init__(
        self,
        analyzer: TextAnalyzer,
        terms: UInt8s | None,
        ends: Int64s | None,
        n_features: int,
        idf: object | None,
        logs: object | None,
        norm: str,
        binary: bool,
        single: bool,
        source: str,
    ) -> None: ...
    def count_texts(self, texts: object, n_threads: int, progress: Progress) -> tuple[Int64s, int]: ...

class TextUnion:
    def __init__(self, vectorizers: list[TextVectorizer], weights: list[float]) -> None: ...
    @property
    def n_features(self) -> int: ...
    def check(self) -> None: ...
    def transform(
        self, texts: object, n_threads: int, progress: Progress
    ) -> tuple[Float32s | Float64s, Int32s, Int32s | Int64s]: ...

class Names:
    def __init__(self, text: UInt8s, ends: Int64s, source: str) -> None: ...
    def __len__(self) -> int: ...
    def find_all(self, others: Names) -> Int32s: ...

class Encoder:
    @property
    def n_features(self) -> int: ...
    def transform(self, contexts: object) -> tuple[Float32s, Int32s, Int64s, Int64s]: ...

class ItemEncoder(Encoder):
    def __init__(
        self,
        names: Names,
        ids: Names | None,
        weighting: str,
        norm: str,
        separator: str | None,
        is_column: bool,
        takes: str,
    ) -> None: ...

class TextEncoder(Encoder):
    def __init__(self, vectorizers: TextUnion, takes_tokens: bool, takes: str) -> None: ...

class UnionEncoder(Encoder):
    def __init__(self, keys: list[str], parts: list[Encoder], weights: list[float], takes: str) -> None: ...

def transpose_indicator(indptr: Int64s, indices: Int32s, n_columns: int) -> tuple[Int64s, Int32s]: ...
def greedy_cover(
    indptr: Int64s, indices: Int32s, point_weights: Float64s, whole_weights: bool, covered: Float64s
) -> None: ...
def row_lengths(indptr: Int64s, values: Float32s) -> Float64s: ...
def largest_values(indptr: Int64s, columns: Int32s, values: Float32s, most: int) -> tuple[Int64s, Int32s, Float32s]: ...
def pifa_sparse(
    label_ptr: Int64s, points: Int32s, indptr: Int64s, indices: Int32s, values: Float32s, n_columns: int, n_threads: int
) -> tuple[Int64s, Int32s, Float32s]: ...
def pifa_dense(
    label_ptr: Int64s, points: Int32s, x: Float32s, n_columns: int, n_threads: int, out: Float32s
) -> None: ...
def tree_parents(child_ptr: Int64s, children: Int32s, parent: Int32s, label_parent: Int32s) -> tuple[int, int, int]: ...
def tree_depths(
    child_ptr: Int64s, children: Int32s, parent: Int32s, label_parent: Int32s, node_depth: Int32s, label_depth: Int32s
) -> None: ...
def tree_mass(child_ptr: Int64s, children: Int32s, parent: Int32s, weights: Float64s, total: Float64s) -> None: ...
def tree_counts(child_ptr: Int64s, children: Int32s, parent: Int32s, weights: Int64s, total: Int64s) -> None: ...
def tree_leaf_order(child_ptr: Int64s, children: Int32s, n_below: Int64s, start: Int64s, order: Int32s) -> None: ...
def tree_renumber(
    child_ptr: Int64s, children: Int32s, mass: Float64s, new_child_ptr: Int64s, new_children: Int32s, old_ids: Int32s
) -> int: ...
def contract_tree(
    child_ptr: Int64s, children: Int32s, mass: Float64s, fanout: int, keep_leaves: bool
) -> tuple[Int64s, Int32s]: ...
def contract_for_cost(
    child_ptr: Int64s, children: Int32s, visits: Float64s, cost_of: Float64s, max_children: int, keep_leaves: bool
) -> tuple[Int64s, Int32s]: ...
def find_homes(
    *,
    child_ptr: Int64s,
    children: Int32s,
    order: Int32s,
    start: Int64s,
    n_below: Int64s,
    indptr: Int64s,
    columns: Int32s,
    values: Float32s,
    n_columns: int,
    weights: Float64s,
    similarity: float,
    frequency: float,
    labels: Int32s,
    n_threads: int,
) -> Int64s: ...

PROGRESS_UNITS: int = 1000

def select_half(keys: Float64s, weights: Float64s) -> tuple[int, float]: ...
def split_labels(
    labels: Int32s,
    weights: Float64s,
    indptr: Int64s,
    columns: Int32s,
    values: Float32s,
    n_columns: int,
    settings: object,
    seed: int,
) -> tuple[Float64s, list[tuple[int, int]], list[Float64s], int]: ...
def build_binary_tree(
    labels: Int32s,
    weights: Float64s,
    indptr: Int64s,
    columns: Int32s,
    values: Float32s,
    n_columns: int,
    settings: object,
    seed: int,
    n_threads: int,
    below_root: bool,
    may_overwrite: bool,
    progress: Progress,
) -> tuple[Int64s, Int32s]: ...
def split_set(
    labels: Int32s,
    weights: Float64s,
    indptr: Int64s,
    columns: Int32s,
    values: Float32s,
    n_columns: int,
    settings: object,
    seed: int,
    n_threads: int,
    below_root: bool,
) -> tuple[UInt8s, int, int]: ...
def huffman_tree(labels: Int32s, weights: Float64s) -> tuple[Int64s, Int32s]: ...
def fano_tree(labels: Int32s, weights: Float64s) -> tuple[Int64s, Int32s]: ...

class LinearProblem:
    def __init__(
        self,
        *,
        n_points: int,
        n_features: int,
        n_labels: int,
        x_indptr: Int64s | None,
        x_columns: Int32s | None,
        x_values: Float32s,
        y_indptr: Int64s,
        y_columns: Int32s,
        y_values: Float32s | None,
        child_ptr: Int64s,
        children: Int32s,
        point_weight: Float32s | None,
        label_cost: Float32s | None,
        extra_indptr: Int64s | None,
        extra_points: Int32s | None,
        edge_ids: Int64s | None = None,
        n_whole: int = 0,
    ) -> None: ...
    def memory(self, balanced: bool, n_threads: int) -> tuple[int, int, int, int]: ...
    def node_sizes(self, balanced: bool) -> tuple[Int64s, Int64s, Int64s, Int64s]: ...
    def validate(
        self,
        *,
        nodes: Int64s,
        first_edges: Int64s,
        n_edges: Int64s,
        strides: Int64s,
        held_out: UInt8s,
        costs: Float32s,
        settings: object,
        seed: int,
        n_threads: int,
    ) -> tuple[Float64s, Float64s, Int64s]: ...
    def train(
        self,
        *,
        nodes: Int64s,
        first_edges: Int64s,
        n_edges: Int64s,
        costs: Float32s,
        settings: object,
        seed: int,
        n_threads: int,
        progress: Progress,
        start_indptr: Int64s | None = None,
        start_features: Int32s | None = None,
        start_values: Float32s | None = None,
        start_bias: Float32s | None = None,
        is_new: UInt8s | None = None,
    ) -> tuple[Int64s, Int32s, Float32s, Float32s]: ...

def half_round_trip(values: Float32s) -> Float32s: ...
def pack_chunks(
    child_ptr: Int64s,
    children: Int32s,
    indptr: Int64s,
    features: Int32s,
    values: Float32s,
    bias: Float32s,
    n_features: int,
    feature_rank: Int32s,
    node_mass: Float64s,
    n_threads: int,
    progress: Progress,
) -> tuple[UInt8s, Int64s]: ...
def pack_matrix_chunks(
    child_ptr: Int64s,
    children: Int32s,
    matrix: Float32s,
    bias: Float32s,
    n_features: int,
    node_mass: Float64s,
    half: bool,
    n_threads: int,
    progress: Progress,
) -> tuple[UInt8s, Int64s]: ...
def unpack_chunks(
    chunks: UInt8s, offsets: Int64s, child_ptr: Int64s, feature_rank: Int32s, nodes: Int32s, n_threads: int
) -> tuple[Int64s, Int32s, Float32s, Float32s]: ...

class LabelSet:
    def __len__(self) -> int: ...
    def __contains__(self, label: int) -> bool: ...
    def __repr__(self) -> str: ...
    def belongs_to(self, engine: object) -> bool: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def n_unknown(self) -> int: ...

class LabelWeights:
    def __repr__(self) -> str: ...
    def belongs_to(self, engine: object) -> bool: ...

class LabelLimits:
    def __init__(self, group_of: Int32s, most: Int32s) -> None: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    @property
    def n_labels(self) -> int: ...

class Calibration:
    def __init__(self, scores: Float64s, probabilities: Float64s) -> None: ...
    def __call__(self, score: float) -> float: ...
    def lowest_score(self, probability: float) -> float: ...

class SearchRequest:
    def __init__(
        self,
        settings: object,
        *,
        k: int,
        n_candidates: int,
        evidence: bool,
        discounts: Float32s | None,
        candidate_ptr: Int64s | None,
        candidates: Int32s | None,
        exclude_ptr: Int64s | None,
        exclude: Int32s | None,
        candidate_set: LabelSet | None,
        exclude_set: LabelSet | None,
        weights: LabelWeights | None,
        boosted: Int32s | None,
        boosts: Float32s | None,
        limits: LabelLimits | None,
        calibration: Calibration | None,
    ) -> None: ...
    @property
    def k(self) -> int: ...
    @property
    def n_returned(self) -> int: ...

class QueryRows:
    def __init__(self, n: int, indptr: Int64s | None, features: Int32s | None, values: Float32s) -> None: ...
    @property
    def n(self) -> int: ...
    def check(self, n_features: int, n_threads: int) -> tuple[bool, bool]: ...

class Evidence:
    def __init__(self, *, n_features: int, n_labels: int, n_searched: int, n_candidates: int) -> None: ...
    def add_votes(
        self,
        weight: float,
        n_neighbours: int,
        n_query_features: int,
        indptr: Int64s,
        points: Int32s,
        values: UInt16s,
        feature_weights: Float32s,
        label_ptr: Int64s,
        labels: Int32s,
    ) -> None: ...
    def add_rows(self, weight: float, indptr: Int64s, features: Int32s, values: UInt16s, present: bool) -> None: ...
    def set_proposals(self, n_proposed: int, indptr: Int64s, labels: Int32s, values: UInt16s) -> None: ...
    def propose(self, rows: QueryRows, labels: Int64s, k: int, n_threads: int) -> Int64s: ...
    def add_classifiers(
        self,
        weight: float,
        indptr: Int64s,
        features: Int32s,
        values: UInt16s,
        bias: Float32s,
        normalize: bool,
        loss: str,
        score_power: float,
    ) -> None: ...
    def add_names(
        self,
        weight: float,
        indptr: Int64s,
        features: Int32s,
        values: UInt16s,
        bias: Float32s,
        posting_ptr: Int64s,
        labels: Int32s,
        posting_values: UInt16s,
        n_proposed: int,
    ) -> None: ...
    def propose_names(self, rows: QueryRows, k: int, n_threads: int) -> Int64s: ...
    def measure(self, rows: QueryRows, labels: Int64s, k: int, n_threads: int) -> Float32s: ...

def blend_scores(scores: Float32s, measured: Float32s, weights: Float32s, multiplies: UInt8s) -> Float32s: ...

PRIORITY_SCALE: float = 0.30000001192092896

class SearchEngine:
    def __init__(
        self, n_features: int, n_labels: int, matrices: bool, normalize: bool, loss: str, score_power: float
    ) -> None: ...
    def add_tree(
        self,
        chunks: UInt8s,
        offsets: Int64s,
        feature_rank: Int32s,
        child_ptr: Int64s,
        children: Int32s,
        checked: bool,
        source: str,
        ceilings: Float32s | None = None,
    ) -> None: ...
    def set_evidence(self, evidence: Evidence) -> None: ...
    def check_all(self) -> None: ...
    def search(
        self, rows: QueryRows, request: SearchRequest, n_threads: int, stats: bool
    ) -> tuple[Int64s, Float32s, tuple[Int64s, Int64s, Int32s, Float32s, UInt8s, UInt8s] | None]: ...
    def label_set(self, labels: object, names: Names | None) -> LabelSet: ...
    def pack_set(self, set: LabelSet) -> None: ...
    def label_weights(self, weights: Float32s) -> LabelWeights: ...
    def set_prior(self, counts: Int64s, n_points: int) -> None: ...
    def set_retired(self, labels: Int32s) -> None: ...
    def trace(self, tree: int, rows: QueryRows, request: SearchRequest) -> tuple[Int64s, Int32s, Float32s]: ...
    def margins(self, tree: int, node: int, rows: QueryRows) -> Float32s: ...
    def count(
        self, rows: QueryRows, request: SearchRequest
    ) -> tuple[Int64s, Int64s, Int32s, Int32s, Float32s, Int32s, UInt8s]: ...

class Predictor:
    def __init__(
        self,
        engine: SearchEngine,
        request: SearchRequest,
        k: int,
        encoder: Encoder | None,
        names: Names | None,
        with_names: bool,
        label_of_feature: Int32s | None,
    ) -> None: ...
    @property
    def n_unknown(self) -> int: ...
    @property
    def n_no_features(self) -> int: ...
    def __call__(
        self,
        indices: object | None,
        values: object | None = None,
        k: object | None = None,
        exclude: object | None = None,
        candidates: object | None = None,
        label_weight: object | None = None,
        limits: object | None = None,
        threshold: object | None = None,
        diversity: object | None = None,
    ) -> tuple[Any, Float32s]: ...
    def lists(
        self,
        indices: object | None,
        values: object | None = None,
        k: object | None = None,
        exclude: object | None = None,
        candidates: object | None = None,
        label_weight: object | None = None,
        limits: object | None = None,
        threshold: object | None = None,
        diversity: object | None = None,
    ) -> tuple[list[Any], list[float]]: ...

def start_input(input: Float32s, dim: int, stride: int, seed: int, n_threads: int) -> None: ...
def word_slots(text: UInt8s, ends: Int64s) -> Int64s: ...
def shuffle_blocks(file_size: int, n_threads: int) -> tuple[int, int, int]: ...
def fasttext_entries(bytes: UInt8s, n: int) -> tuple[UInt8s, Int64s, Int64s, UInt8s, int]: ...
def fasttext_huffman(counts: Int64s) -> Int32s: ...
def decision_places(child_ptr: Int64s, children: Int32s, label_place: Int32s, depth: Int32s, place: Int32s) -> None: ...

class TextCorpus:
    def __init__(
        self, texts: tuple[object, ...] | None, path: str, word_ngrams: int, min_n: int, max_n: int, n_buckets: int
    ) -> None: ...
    def count(self, min_count: int, max_entries: int, progress: Progress) -> None: ...
    def set_vocabulary(self, text: UInt8s, ends: Int64s, counts: Int64s, n_words: int, buckets: UInt64s) -> None: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_lines(self) -> int: ...
    @property
    def n_bucket_rows(self) -> int: ...
    @property
    def text(self) -> UInt8s: ...
    @property
    def ends(self) -> Int64s: ...
    @property
    def counts(self) -> Int64s: ...
    @property
    def buckets(self) -> UInt64s: ...
    @property
    def loss(self) -> float: ...
    def bag(
        self, min_texts_of_word: int, min_texts_of_ngram: int, progress: Progress
    ) -> tuple[Int64s, Int32s, Float32s, Int64s, Int32s]: ...
    def train(
        self,
        *,
        input: Float32s,
        output: Float32s,
        dim: int,
        stride: int,
        child_ptr: Int64s,
        children: Int32s,
        n_labels: int,
        label_indptr: Int64s | None,
        labels: Int32s | None,
        weights: Float32s | None,
        n_tokens: int,
        lr: float,
        epochs: int,
        seed: int,
        n_threads: int,
        shuffle: bool,
        progress: Progress,
    ) -> None: ...
    def shuffled_lines(
        self, epochs: int, seed: int, n_threads: int, buffer_bytes: int | None = None
    ) -> list[bytes]: ...

class TextEngine:
    def __init__(
        self,
        *,
        text: UInt8s,
        ends: Int64s,
        n_words: int,
        slots: Int64s,
        buckets: UInt64s,
        word_ngrams: int,
        min_n: int,
        max_n: int,
        n_buckets: int,
        input: Float32s,
        output: Float32s,
        dim: int,
        stride: int,
        child_ptr: Int64s,
        children: Int32s,
        n_labels: int,
        height: int,
    ) -> None: ...
    def features(self, text: object) -> tuple[Int32s, int]: ...
    def search(
        self, texts: tuple[object, ...], request: SearchRequest, n_threads: int, stats: bool
    ) -> tuple[Int64s, Float32s, tuple[Int64s, Int64s, Int32s, Float32s, UInt8s, UInt8s] | None]: ...
    def label_set(self, labels: object, names: Names | None) -> LabelSet: ...
    def label_weights(self, weights: Float32s) -> LabelWeights: ...
    def set_prior(self, counts: Int64s, n_points: int) -> None: ...
    def set_retired(self, labels: Int32s) -> None: ...
    def trace(self, texts: tuple[object, ...], request: SearchRequest) -> tuple[Int64s, Int32s, Float32s]: ...
    def count(
        self, texts: tuple[object, ...], request: SearchRequest
    ) -> tuple[Int64s, Int64s, Int32s, Int32s, Float64s]: ...

class TextPredictor:
    def __init__(
        self, engine: TextEngine, request: SearchRequest, k: int, names: Names | None, with_names: bool
    ) -> None: ...
    @property
    def n_no_features(self) -> int: ...
    def __call__(
        self,
        text: object,
        k: object | None = None,
        exclude: object | None = None,
        candidates: object | None = None,
        label_weight: object | None = None,
        limits: object | None = None,
        threshold: object | None = None,
        diversity: object | None = None,
    ) -> tuple[Any, Float32s]: ...
    def lists(
        self,
        text: object,
        k: object | None = None,
        exclude: object | None = None,
        candidates: object | None = None,
        label_weight: object | None = None,
        limits: object | None = None,
        threshold: object | None = None,
        diversity: object | None = None,
    ) -> tuple[list[Any], list[float]]: ...
