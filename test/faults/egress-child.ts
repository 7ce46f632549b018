import { egressProxy } from "../../src/sandbox/network/egress.ts";
import { startServer } from "../../src/testing/start-server.ts";

/** A server with the way out of a sandbox in the same process, as when a command runs. Nothing catches what is thrown. */
const house = await startServer({});
const egress = egressProxy({ allow: ["127.0.0.1", "localhost"] });
egress.server.listen(0, "127.0.0.1", () => {
  const address = egress.server.address();
  process.send?.({ url: house.url, proxy: typeof address === "object" && address ? address.port : 0 });
});
process.on("disconnect", () => process.exit(0));
