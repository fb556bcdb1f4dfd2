"""Headless Chromium for tests, by Debian's chromium and chromium-driver alone."""
