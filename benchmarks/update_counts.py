"""Count what an update asks of a GPU, without one: kernel launches, waits, shapes, graphs, padding.

    python benchmarks/update_counts.py [--layers 12] [--tokens 32768] [--updates 200]

Counts are of operations, not of time. The model has `--layers` layers of a width of 16, because the width changes no
count; dropout and attention are single operations, as on a GPU. A launch is an operation that writes memory: views and
empty tensors are none, and an operation over a list of tensors is one. A wait is an operation that moves a number to
the processor (`item`, `nonzero`, boolean indexing, `tolist`, `cpu`), outside of the read of `READ_EVERY` updates.

Batches are packed rows of `--tokens` tokens, or padded ones with `--padded`; shapes and real tokens are those of
`--updates` batches. Graphs are what torch.compile makes of a mixture of all objectives in training (backend
`aot_eager`). `--kernels N` counts the kernels that inductor makes of an encoder with N layers: matrix products,
attention, and loops as they are fused for a processor.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from _random_training import BASE, row_of, sources_of, training_of, vocabulary
from _varlen import replaced_varlen
from torch.utils._python_dispatch import TorchDispatchMode

from interlace.models import attention, blocks
from interlace.models.settings import Shape
from interlace.objectives import Batch
from interlace.objectives.common.packed_rows import PackedRow
from interlace.training import loop
from interlace.training.loop import READ_EVERY, Progress, Training, steps
from interlace.training.mixture import Mixture, MixtureDraw, MixtureSource

OBJECTIVES = ("mlm", "tlm", "weam", "alm", "align_mlm")
WIDTH = 16
VOCABULARY = 2500
PAIRS = 160_000  # `alm` makes 130 rows of them
SMALL_TOKENS = 2048  # of an update whose operations are counted
NO_LAUNCH = {"detach", "empty", "empty_like", "empty_strided", "new_empty", "lift_fresh"}
NO_LAUNCH |= {"new_empty_strided", "_unsafe_view", "scalar_tensor"}
NO_LAUNCH |= {"_record_function_enter_new", "_record_function_exit"}  # of profilers
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "equal"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
READERS = ("tolist", "cpu", "numpy", "item", "__bool__", "__float__", "__int__")


def is_wait(operation: str, arguments: Sequence[Any]) -> bool:
    """Return whether an operation of aten makes the processor wait for its result."""
    if operation in INDEXING:
        indices = arguments[1]
        masks = [index for index in indices if index is not None and index.dtype == torch.bool]
        return bool(masks)
    return operation in WAITS


class Operations(TorchDispatchMode):
    """Counts launches and waits, by name of the operation."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        name = operation.name().partition("::")[2].partition(".")[0]
        if is_wait(name, arguments):
            self.waits[name] += 1
        if not (operation.is_view or name in NO_LAUNCH):
            self.launches[name] += 1
        return operation(*arguments, **(options or {}))


@contextmanager
def counted_readers(counts: Operations) -> Iterator[None]:
    """Count methods that read a tensor, of which the dispatcher of a processor does not hear."""
    with patch.multiple(torch.Tensor, **{name: _counting(name, counts) for name in READERS}):
        yield


def _counting(name: str, counts: Operations) -> Any:
    method = getattr(torch.Tensor, name)

    def counting(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        counts.waits[name] += 1
        return method(tensor, *arguments, **options)

    return counting


def native_dropout(states: torch.Tensor, rate: float) -> torch.Tensor:
    """Return dropout as the single operation that it is on a GPU."""
    dropped: torch.Tensor = torch.native_dropout(states, rate, train=True)[0]
    return dropped


@contextmanager
def like_a_gpu() -> Iterator[None]:
    """Use single operations for dropout and attention."""
    with (
        replaced_varlen(),
        patch.object(attention, "apply_dropout", native_dropout),
        patch.object(attention, "MAX_LENGTH", 0),
    ):
        yield


def operations_of(training: Training) -> Operations:
    """Return the operations of the second `READ_EVERY` updates, without those of reading them."""
    counts = Operations()
    read = loop._read

    def uncounted(*arguments: Any) -> Any:
        launches = counts.launches.copy()
        waits = counts.waits.copy()
        records = read(*arguments)
        counts.launches = launches
        counts.waits = waits
        return records

    run = steps(training, Progress())
    with like_a_gpu():
        for _ in range(READ_EVERY):
            next(run)
        with patch.object(loop, "_read", uncounted), counted_readers(counts), counts:
            next(run)
    run.close()
    return counts


def batches_of(source: MixtureSource, row: PackedRow | None, updates: int) -> Iterator[Batch]:
    """Yield the first batches of a source, as a training would build them."""
    mixture = Mixture([source], 0)
    for number in range(updates):
        batch = mixture.batch(MixtureDraw(number + 1, 0, number, ()), 0)
        yield batch if row is None else row.pack(batch)


def shape_of(batch: Batch) -> tuple[Any, ...]:
    """Return the shapes that the encoder reads, by name."""
    return tuple((name, array.shape) for name, array in sorted(batch.inputs.items()))


def graphs_of(training: Training) -> int:
    """Return how many graphs torch.compile makes during a training."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with like_a_gpu():
        for _ in steps(training, Progress()):
            pass
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def kernels_of(training: Training) -> list[int]:
    """Return how many kernels inductor makes of each graph of a training: forward and backward."""
    from torch._inductor.ir import MultiOutput
    from torch._inductor.scheduler import NopKernelSchedulerNode, Scheduler

    counts = []
    codegen = Scheduler.codegen

    def counting(scheduler: Any) -> Any:
        kernels = [
            node
            for node in scheduler.nodes
            if not isinstance(node, NopKernelSchedulerNode)
            and not isinstance(getattr(node, "node", None), MultiOutput)
        ]
        counts.append(len(kernels))
        return codegen(scheduler)

    torch._dynamo.reset()
    with (
        like_a_gpu(),
        patch.object(Scheduler, "codegen", counting),
        patch.object(torch.compiler.config, "force_disable_caches", new=True),
    ):
        for _ in steps(training, Progress()):
            pass
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=32_768, help="tokens of a batch")
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument(
        "--graphs", type=int, default=1, help="layers of the compiled model; 0: none"
    )
    parser.add_argument(
        "--kernels",
        type=int,
        default=0,
        help="layers of the model compiled by inductor; 0: none",
    )
    parser.add_argument("--padded", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="also count by operation")
    options = parser.parse_args()
    shape = Shape(
        family="roberta",
        layers=options.layers,
        width=WIDTH,
        heads=2,
        max_length=BASE.max_length,
        attention_dropout=0.0,
    )
    vocab = vocabulary(VOCABULARY)
    packed = not options.padded
    large = sources_of(OBJECTIVES, vocab, shape, options.tokens, PAIRS, packed=packed)
    small = sources_of(OBJECTIVES, vocab, shape, SMALL_TOKENS, 2000, packed=packed)
    row = None
    small_row = None
    if packed:
        row = row_of(vocab, shape, options.tokens)
        small_row = row_of(vocab, shape, SMALL_TOKENS)
    print(f"{'objective':12} {'launches':>9} {'waits':>6} {'shapes':>7} {'real tokens':>12}")
    for number, name in enumerate(OBJECTIVES):
        alone = small[number : number + 1]
        training = training_of(alone, vocab, shape, 3 * READ_EVERY, "bf16", row=small_row)
        counts = operations_of(training)
        batches = list(batches_of(large[number], row, options.updates))
        shapes = {shape_of(batch) for batch in batches}
        places = sum(batch.inputs["input_ids"].size for batch in batches)
        share = sum(batch.tokens for batch in batches) / places
        launches = counts.launches.total() / READ_EVERY
        waits = counts.waits.total()
        print(f"{name:12} {launches:9.0f} {waits:6} {len(shapes):7} {share:12.1%}", flush=True)
        if options.verbose:
            for operation, count in counts.launches.most_common(40):
                print(f"    {operation:40} {count / READ_EVERY:8.1f}")
            print("    waits:", dict(counts.waits))
    if options.graphs:
        shallow = shape.model_copy(update={"layers": options.graphs})
        with patch.object(blocks, "COMPILER", "aot_eager"):
            training = training_of(
                small, vocab, shallow, options.updates, "bf16", compiled=True, row=small_row
            )
            print(f"graphs in {options.updates} updates of a mixture: {graphs_of(training)}")
    if options.kernels:
        shallow = shape.model_copy(update={"layers": options.kernels})
        training = training_of(
            small[:1], vocab, shallow, 1, "bf16", compiled=True, row=small_row
        )
        print(f"kernels of {options.kernels} compiled layers: {kernels_of(training)}")


if __name__ == "__main__":
    main()
