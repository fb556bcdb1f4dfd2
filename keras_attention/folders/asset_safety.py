"""Refuses SavedModels whose tables would be read from other files than their own assets.

A table that is filled from a file names the file in the graph. Both ways of loading set the names
of assets: into a placeholder, from where they get into a variable of strings, or into the arguments
with which a function was saved. Every other way to come by a name is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

FROM_FILE = "InitializeTableFromTextFileV2"
_WHY = "holds a table of a file that is not its own; do not use this file"


def refuse_foreign_files(meta_graph: meta_graph_pb2.MetaGraphDef) -> None:
    """Checks where the names of all table files come from.

    Raises:
        ValueError: one may come from anywhere else than the assets, or an asset has a path.
    """
    graph = meta_graph.graph_def
    if any(node.op == FROM_FILE for node in graph.node):
        raise ValueError(_WHY)
    fillers = dict(_fillers(graph))
    if not fillers:
        return
    assets = {asset.tensor_info.name.partition(":")[0] for asset in meta_graph.asset_file_def}
    for asset in meta_graph.asset_file_def:
        if asset.filename in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(asset.filename):
            raise ValueError(_WHY)
    nodes = {node.name: node for node in graph.node}
    for node in filter(_sets_a_string, graph.node):
        value = nodes.get(node.input[1])
        if value is None or value.op != "Placeholder" or value.name not in assets:
            raise ValueError(_WHY)
    for function in graph.library.function:
        for node in function.node_def:
            if _sets_a_string(node) or not fillers.keys().isdisjoint(_called(node)):
                raise ValueError(_WHY)
    for node in graph.node:
        for name in fillers.keys() & set(_called(node)):
            named_by = nodes.get(node.input[fillers[name]])
            plain = node.op in ("StatefulPartitionedCall", "PartitionedCall")
            if not plain or named_by is None or named_by.op != "ReadVariableOp":
                raise ValueError(_WHY)
    _check_objects(meta_graph, fillers)


def _fillers(graph: graph_pb2.GraphDef) -> Iterator[tuple[str, int]]:
    """Functions that fill a table from a file, and which of their arguments names it."""
    for function in graph.library.function:
        arguments = [argument.name for argument in function.signature.input_arg]
        for node in function.node_def:
            if node.op == FROM_FILE:
                if node.input[1] not in arguments:
                    raise ValueError(_WHY)
                yield function.signature.name, arguments.index(node.input[1])


def _check_objects(meta_graph: meta_graph_pb2.MetaGraphDef, fillers: dict[str, int]) -> None:
    """The arguments with which functions are called that are loaded as Python objects."""
    objects = meta_graph.object_graph_def
    arities = {
        function.signature.name: len(function.signature.input_arg)
        for function in meta_graph.graph_def.library.function
    }
    for name, concrete in objects.concrete_functions.items():
        if name not in fillers:
            continue
        bound = concrete.bound_inputs
        place = fillers[name] - (arities[name] - len(bound))  # those that are bound come last
        if place < 0 or objects.nodes[bound[place]].WhichOneof("kind") != "asset":
            raise ValueError(_WHY)


def _sets_a_string(node: node_def_pb2.NodeDef) -> bool:
    return node.op == "AssignVariableOp" and node.attr["dtype"].type == types_pb2.DT_STRING


def _called(node: node_def_pb2.NodeDef) -> Iterator[str]:
    """Names of the functions that a node calls."""
    yield node.op
    for value in node.attr.values():
        yield value.func.name
        for function in value.list.func:
            yield function.name
