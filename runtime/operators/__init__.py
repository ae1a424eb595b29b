"""The stateful operators with Spark, one file each; what they are is said in `cedilla.compiler.operators`."""

from cedilla.compiler.operators import (
    Aggregate,
    AntiJoin,
    CountWindow,
    Distinct,
    Intersect,
    Join,
    LeftJoin,
    Limit,
    Minus,
    Operator,
    SemiJoin,
    Session,
    Sort,
    Top,
    User,
)
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
    Join: JoinDataflow(),
    LeftJoin: LeftJoinDataflow(),
    SemiJoin: SemiJoinDataflow(),
    AntiJoin: AntiJoinDataflow(),
    Aggregate: AggregateDataflow(),
    CountWindow: CountWindowDataflow(),
    Distinct: DistinctDataflow(),
    Intersect: IntersectDataflow(),
    Minus: MinusDataflow(),
    Limit: LimitDataflow(),
    Sort: SortDataflow(),
    Top: TopDataflow(),
    Session: SessionDataflow(),
    User: UserDataflow(),
}

__all__ = ["DATAFLOWS", "AttributeState", "Dataflow"]
