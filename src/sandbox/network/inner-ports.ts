import { createServer, Socket } from "node:net";

/**
 * Runs inside a sandbox that has a network of its own with nobody in it, before anything else does: listens on that
 * network's loopback, hands the listening sockets to our process outside, and is gone. What connects to them is then
 * ours without anybody between.
 */
for (const port of process.argv.slice(2)) {
  const server = createServer();
  server.listen(Number(port), "127.0.0.1", () => process.send?.(port, server));
}

process.on("message", () => process.exit(0));
// Node does not say that the channel is closed while a socket waits to be taken: that we are dead, the line of life says.
new Socket({ fd: 3 }).on("close", () => process.exit(1)).resume();
