import { createServer } from "node:net";

/**
 * Runs inside a sandbox that has a network of its own with nobody in it, before anything else does: listens on that
 * network's loopback, hands the listening sockets to our process outside, and is gone. What connects to them is then
 * ours without anybody between.
 */
for (const port of process.argv.slice(2)) {
  const server = createServer();
  server.listen(Number(port), "127.0.0.1", () => process.send?.(port, server));
}

// Our side has them all, or is gone itself.
process.on("message", () => process.exit(0));
process.on("disconnect", () => process.exit(1));
