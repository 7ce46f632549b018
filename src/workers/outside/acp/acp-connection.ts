import type { ClientConnection } from "@agentclientprotocol/sdk";
import type { RunningProgram } from "../../../sandbox/program.ts";
import { serveFile } from "./acp-files.ts";
import { type AcpReader, messagesOf } from "./acp-stream.ts";

export interface AcpClient extends AcpReader {
  /** Where the agent works: we read and write files for it there, and nowhere else. */
  cwd: string;
  /** Answers a request for permission. */
  permission(params: unknown): Promise<unknown>;
}

/** Our side of the protocol: what an agent may request of us. */
export async function connectAgent(running: RunningProgram, client: AcpClient): Promise<ClientConnection> {
  // Loaded with the first agent: nobody else pays for it.
  const sdk = await import("@agentclientprotocol/sdk");
  const { RequestError } = sdk;
  return sdk
    .client({ name: "agiraph" })
    .onRequest("*", async ({ method, params }) => {
      if (method === "session/request_permission") return client.permission(params);
      if (method === "fs/read_text_file" || method === "fs/write_text_file") {
        const answer = await serveFile(method, params, client.cwd);
        if (answer.ok) return answer.result;
        throw RequestError.invalidParams(undefined, answer.why);
      }
      if (method.startsWith("terminal/"))
        throw new RequestError(-32601, "There is no terminal here: run commands with your own tools.");
      throw RequestError.methodNotFound(method);
    })
    .connect(messagesOf(running, client));
}
