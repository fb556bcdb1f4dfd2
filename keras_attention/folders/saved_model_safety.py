"""Refuses SavedModels of strangers that could do more than compute.

A SavedModel is a program. Operators of TensorFlow read and write files and call Python, and what
restores the variables is part of the graph as well. None of our exports needs any of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from keras_attention._runtime.undocumented import operator_of
from keras_attention.folders.asset_safety import FROM_FILE, refuse_foreign_files

# Collections of what loaders run, besides the signature called `__saved_model_init_op`.
_RUN_ON_LOADING = ("saved_model_main_op", "legacy_init_op")

# Operators with a state that stays in the process: variables, tables, control flow.
_OWN_STATE = frozenset(
    {
        *("AssignVariableOp", "DisableCopyOnRead", "ReadVariableOp", "VarHandleOp"),
        *("VarIsInitializedOp", "DestroyResourceOp"),
        *("HashTableV2", "InitializeTableV2", "LookupTableFindV2", "LookupTableImportV2"),
        *("LookupTableSizeV2", "LookupTableExportV2"),
        FROM_FILE,  # of assets alone, see `refuse_foreign_files`
        *("Assert", "Case", "If", "StatefulPartitionedCall", "While"),
    }
)
# Operators that TensorFlow calls stateless and that look outside all the same.
_LOOK_OUTSIDE = frozenset(
    {
        *("ReadFile", "MatchingFiles", "PyFuncStateless", "ImmutableConst"),
        *("GenerateVocabRemapping", "Fact"),
    }
)


def refuse_unsafe(meta_graph: meta_graph_pb2.MetaGraphDef) -> None:
    """Checks every operator that loading or calling a SavedModel can reach.

    Raises:
        ValueError: one may do more than compute, or is unknown.
    """
    refuse_foreign_files(meta_graph)
    graph = _Graph(meta_graph)
    called = [
        *(info.name for of in meta_graph.signature_def.values() for info in of.outputs.values()),
    ]
    for name in _RUN_ON_LOADING:
        if name in meta_graph.collection_def:
            called += meta_graph.collection_def[name].node_list.value
    functions = meta_graph.object_graph_def.concrete_functions
    for node in graph.reached(called, functions):
        _check(node.op, _OWN_STATE)
    if restore := meta_graph.saver_def.restore_op_name:
        for node in graph.reached([restore], ()):
            _check(node.op, _OWN_STATE | {"RestoreV2"})


def _check(op: str, allowed: frozenset[str]) -> None:
    definition = operator_of(op)
    safe = definition is not None and op not in _LOOK_OUTSIDE
    if not safe or (definition.is_stateful and op not in allowed):
        raise ValueError(
            f"holds the operator {op}, which may do more than compute and is in no export of "
            "this program; do not use this file"
        )


class _Graph:
    """Nodes by name, of the graph and of its functions."""

    def __init__(self, meta_graph: meta_graph_pb2.MetaGraphDef):
        self._nodes = {node.name: node for node in meta_graph.graph_def.node}
        self._functions = {
            function.signature.name: function.node_def
            for function in meta_graph.graph_def.library.function
        }

    def reached(
        self, tensors: Iterable[str], functions: Iterable[str]
    ) -> Iterator[node_def_pb2.NodeDef]:
        """All nodes that computing some tensors and calling some functions can run."""
        waiting = [_node_of(tensor) for tensor in tensors]
        seen = set(waiting)
        called = set(functions)
        names = list(called)
        while waiting or names:
            if waiting:
                node = self._nodes.get(waiting.pop())
                nodes = [] if node is None else [node]
                inputs = {_node_of(name) for node in nodes for name in node.input} - seen
                seen |= inputs
                waiting.extend(inputs)
            else:
                nodes = self._functions.get(names.pop(), ())
            for node in nodes:
                yield node
                inner = set(_functions_of(node)) - called
                called |= inner
                names.extend(inner)


def _node_of(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _functions_of(node: node_def_pb2.NodeDef) -> Iterator[str]:
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for function in value.list.func:
            yield function.name
    if node.op:  # an operator may be called by a function's name
        yield node.op
