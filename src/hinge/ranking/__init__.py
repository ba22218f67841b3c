"""Ranking: pairs of samples within queries, their exact weight path, and NDCG along it."""

from hinge.ranking.ndcg import ndcg
from hinge.ranking.path import BestRanking, RankingPath, ranking_path
from hinge.ranking.queries import check_queries, check_query_weight, check_relevance, make_pairs

__all__ = [
    "BestRanking",
    "RankingPath",
    "check_queries",
    "check_query_weight",
    "check_relevance",
    "make_pairs",
    "ndcg",
    "ranking_path",
]
