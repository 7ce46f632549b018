import { connect, createServer } from "node:net";

/**
 * Runs inside a sandbox that has a network of its own with nobody in it: passes what comes to its loopback on to the
 * proxy outside, by a unix socket. It decides nothing; the command could as well use the socket directly.
 */
const [socket = "", port = ""] = process.argv.slice(2);

createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: socket, allowHalfOpen: true });
  client.pipe(proxy).pipe(client);
  client.on("error", () => proxy.destroy());
  proxy.on("error", () => client.destroy());
}).listen(Number(port), "127.0.0.1", () => process.stdout.write("ready\n"));

// Whoever waited for that line has closed its end by now, or soon will.
process.stdout.on("error", () => {});
