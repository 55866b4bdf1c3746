"""How many requests a second a token or an address may send: Litestar's limit, counted in memory.

Its own counts go to a store as text, behind three locks. These are the process's own, and so are those.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from litestar.exceptions import TooManyRequestsException
from litestar.middleware.rate_limit import CacheObject, RateLimitConfig, RateLimitMiddleware
from litestar.types import Message, Receive, Scope, Send


class Rates(RateLimitMiddleware):
    """Counts a request, and refuses those above the limit of their second."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert isinstance(self.config, RateLimit)
        seen = self.config.seen(self.cache_key_from_request(scope["litestar_app"].request_class(scope)))
        if len(seen.history) >= self.max_requests:
            raise TooManyRequestsException(headers=self.create_response_headers(seen))
        seen.history.append(0)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = self.create_response_headers(seen).items()
                more = [(name.lower().encode(), value.encode()) for name, value in said]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self.app(scope, receive, told)


@dataclass
class RateLimit(RateLimitConfig):
    """A limit for each second; all routes share its counts."""

    middleware_class: type[RateLimitMiddleware] = field(default=Rates)
    _seen: dict[str, CacheObject] = field(default_factory=dict)
    _ends: int = 0  # when the second is over

    def seen(self, who: str) -> CacheObject:
        """The requests of somebody in this second."""
        now = int(time.time())
        if now >= self._ends:
            self._ends = now + 1
            self._seen.clear()
        return self._seen.setdefault(who, CacheObject(history=[], reset=self._ends))
