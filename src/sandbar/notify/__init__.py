"""Notify: news of commits flows up from here, by callback only."""

from sandbar.notify.hub import StoreHub
from sandbar.notify.news import EntityNews, Hub, Listener, News, Subscription

__all__ = ["EntityNews", "Hub", "Listener", "News", "StoreHub", "Subscription"]
