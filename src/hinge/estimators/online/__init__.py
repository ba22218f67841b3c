"""Stochastic estimators for streams: `OnlineSVC`, `OnlineNuSVC`, `OnlineSVR` and `OnlineNoveltyDetector`."""
