import { createServer, Socket } from "node:net";

/**
 * Runs inside a sandbox with an empty network of its own, before anything else does: listens on that network's
 * loopback, passes the listening sockets to our process outside, and exits. Connections to them then reach us directly.
 */
for (const port of process.argv.slice(2)) {
  const server = createServer();
  server.listen(Number(port), "127.0.0.1", () => process.send?.(port, server));
}

process.on("message", () => process.exit(0));
// Node does not say that the channel is closed while a socket waits to be taken: the lifeline tells it that we are dead.
new Socket({ fd: 3 }).on("close", () => process.exit(1)).resume();
