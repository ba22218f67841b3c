"""Formulations: labels, costs and signs become problem (1), and its solution a function."""

from hinge.formulations.c_svc import CSVC, equivalent_nu
from hinge.formulations.formulation import Formulation
from hinge.formulations.nu_svc import BALANCES, NuSVC, equivalent_C
from hinge.formulations.nu_svr import NuSVR
from hinge.formulations.one_class import OneClass
from hinge.formulations.svr import SVR

__all__ = ["BALANCES", "CSVC", "SVR", "Formulation", "NuSVC", "NuSVR", "OneClass", "equivalent_C", "equivalent_nu"]
