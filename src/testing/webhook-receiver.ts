import { createServer, type IncomingHttpHeaders } from "node:http";

export interface ReceivedPost {
  headers: IncomingHttpHeaders;
  body: string;
}

/** How the other side answers: with a status and headers, by breaking the connection, or never. */
export type ReceiverAnswer = { status: number; headers?: Record<string, string> } | "reset" | "silence";

export interface WebhookReceiver extends AsyncDisposable {
  url: string;
  received: readonly ReceivedPost[];
  /** Resolves when so many have come. */
  got(count: number): Promise<void>;
}

/** The other side of a webhook on this machine: takes what is posted and answers as the test wants, 200 unless said. */
export async function startWebhookReceiver(
  answer: (count: number, post: ReceivedPost) => ReceiverAnswer = () => ({ status: 200 }),
): Promise<WebhookReceiver> {
  const received: ReceivedPost[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const post = { headers: request.headers, body: Buffer.concat(chunks).toString("utf8") };
    received.push(post);
    const how = answer(received.length, post);
    if (how === "reset") request.socket.destroy();
    else if (how !== "silence") response.writeHead(how.status, how.headers).end();
    for (const each of waiting) if (received.length >= each.count) each.resolve();
    waiting = waiting.filter(({ count }) => received.length < count);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    got(count) {
      if (received.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.push({ count, resolve }));
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
