"""A small MCP server on the official Python SDK (PyPI mcp>=2).

usage: mcp_server.py [stdio|streamable-http [PORT]]
"""
import asyncio
import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("labpy")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def boom() -> str:
    raise ValueError("kaboom")


@server.tool()
def big(n: int) -> str:
    return "x" * n


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    for i in range(int(seconds)):
        await ctx.report_progress(i, seconds)
        await asyncio.sleep(1)
    return "done"


transport = sys.argv[1] if len(sys.argv) > 1 else "stdio"
where = {"host": "127.0.0.1", "port": int(sys.argv[2])} if transport != "stdio" else {}
server.run(transport=transport, **where)
