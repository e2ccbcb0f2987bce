"""The kinds of node a tree may be made of: what asks, compares, computes and shapes; all else is refused."""

from sqlglot import exp

from .words import words

# Names, not classes, so that a class that comes or goes with a version of sqlglot breaks nothing.
_STRUCTURE = words("""
    Alias Aliases All Any AtTimeZone Between BitString Boolean Bracket ByteString CTE CharacterSet Column
    ColumnConstraint ColumnDef Comprehension Cube DataType DataTypeParam DefaultColumnConstraint Distinct
    Fetch Filter ForIn FormatJson From FromTimeZone Group GroupingSets Having HavingMax HexString
    Identifier IgnoreNulls IndexTableHint Interval IntervalSpan Introducer JSON JSONColumnDef JSONKeyValue
    JSONPath JSONPathKey JSONPathRoot JSONPathSubscript JSONPathWildcard JSONPathSlice JSONSchema
    JSONValue Join Kwarg Lambda Lateral Limit LimitOptions Literal National Null ObjectIdentifier Offset
    OnCondition Order Ordered OverflowTruncateBehavior Partition PathColumnConstraint Pivot PivotAlias
    PivotAny PositionalColumn PseudoType Pseudocolumn Qualify RecursiveWithSearch RespectNulls Rollup
    Select Slice Star Subquery Table TableAlias TableColumn TableFromRows TableSample TimeUnit Tuple
    UnpivotColumns Values Var Variadic Version Where Window WindowSpec With WithinGroup XMLKeyValueOption
    XMLNamespace
""")
_FAMILIES = (exp.Binary, exp.Unary, exp.Predicate, exp.Func, exp.SetOperation)
_NOT_EVEN_SO = frozenset({"NextValueFor", "ReadCSV", "ReadParquet"})
QUERIES = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery, exp.Pivot)

_NAMES_FOR_PEOPLE = {
    "Placeholder": "a placeholder",
    "Parameter": "a variable",
    "SessionParameter": "a variable",
    "Lock": "a lock on rows",
    "Into": "INTO",
    "Command": "a command",
}


def is_allowed(node: exp.Expr) -> bool:
    """May a query hold this node?"""
    name = type(node).__name__
    return name in _STRUCTURE or (isinstance(node, _FAMILIES) and name not in _NOT_EVEN_SO)


def name_for_people(node: exp.Expr) -> str:
    """What to call a refused node in a sentence."""
    return _NAMES_FOR_PEOPLE.get(type(node).__name__) or type(node).key.upper()
