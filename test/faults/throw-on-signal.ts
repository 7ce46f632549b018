import { createServer } from "node:net";

/**
 * Loaded into the real program with `--import`: at SIGUSR2 something throws where no owner catches it. The file that
 * AGIRAPH_TEST_THROW names says where: in a timer, in a socket's callback, or in a promise that nobody awaits.
 */
const { readFileSync } = await import("node:fs");

process.on("SIGUSR2", () => {
  const where = readFileSync(process.env.AGIRAPH_TEST_THROW ?? "", "utf8").trim();
  if (where === "timer") setTimeout(boom, 1);
  else if (where === "rejection") void Promise.resolve().then(boom);
  else {
    const server = createServer((socket) => socket.end("x"));
    server.listen(0, "127.0.0.1", async () => {
      const { connect } = await import("node:net");
      const address = server.address();
      connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1").on("data", boom);
    });
  }
});

function boom(): never {
  throw new Error("thrown by a test");
}
