"""The stateful operators with Spark, one file each, and the epoch that generated programs call.

In: the DataFrames and facts of an epoch, stored rows. Out: the DataFrames that pass, the rows to store. The semantics
of operators is in `cedilla.compiler.operators`. Imports `engines` and `state`.
"""

from cedilla.compiler import operators
from cedilla.compiler.operators import Operator
from cedilla.runtime.operators.aggregate import AggregateDataflow
from cedilla.runtime.operators.anti_join import AntiJoinDataflow
from cedilla.runtime.operators.base import AttributeState, Dataflow
from cedilla.runtime.operators.count_window import CountWindowDataflow
from cedilla.runtime.operators.distinct import DistinctDataflow
from cedilla.runtime.operators.intersect import IntersectDataflow
from cedilla.runtime.operators.join import JoinDataflow
from cedilla.runtime.operators.left_join import LeftJoinDataflow
from cedilla.runtime.operators.limit import LimitDataflow
from cedilla.runtime.operators.minus import MinusDataflow
from cedilla.runtime.operators.semi_join import SemiJoinDataflow
from cedilla.runtime.operators.session import SessionDataflow
from cedilla.runtime.operators.sort import SortDataflow
from cedilla.runtime.operators.top import TopDataflow
from cedilla.runtime.operators.user import UserDataflow

DATAFLOWS: dict[type[Operator], Dataflow] = {
    operators.Join: JoinDataflow(),
    operators.LeftJoin: LeftJoinDataflow(),
    operators.SemiJoin: SemiJoinDataflow(),
    operators.AntiJoin: AntiJoinDataflow(),
    operators.Aggregate: AggregateDataflow(),
    operators.CountWindow: CountWindowDataflow(),
    operators.Distinct: DistinctDataflow(),
    operators.Intersect: IntersectDataflow(),
    operators.Minus: MinusDataflow(),
    operators.Limit: LimitDataflow(),
    operators.Sort: SortDataflow(),
    operators.Top: TopDataflow(),
    operators.Session: SessionDataflow(),
    operators.User: UserDataflow(),
}

__all__ = ["DATAFLOWS", "AttributeState", "Dataflow"]
