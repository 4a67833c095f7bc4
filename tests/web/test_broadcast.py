"""A slow subscriber loses the oldest items."""

import asyncio

from onlooker.web.broadcast import Broadcast


def test_who_is_slow_loses_the_oldest():
    async def listen():
        broadcast = Broadcast()
        with broadcast.listen("news", size=2) as slow:
            for number in range(5):
                broadcast.publish("news", number)
            return [await slow.take(1.0) for _ in range(2)], broadcast.lost

    assert asyncio.run(listen()) == ([3, 4], 3)
