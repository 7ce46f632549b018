/**
 * A channel: questions, messages and results go to a chat in Telegram, and what you reply there comes back.
 *
 * Copy this file into AGIRAPH_HOME/extensions/. Make a bot (https://core.telegram.org/bots), write to it once, and set
 * TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID. Reply to a question to answer it, to any other message to write to its agent.
 */
import { defineChannel, defineExtension, type Receive, type Utterance } from "agiraph";

interface Update {
  update_id: number;
  message?: { text?: string; chat: { id: number }; reply_to_message?: { text?: string } };
}

export default defineExtension(({ env }) => {
  const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_CHAT_ID: chat } = env;
  if (!token || !chat) throw new Error("Set TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID.");
  const url = `${env.TELEGRAM_URL ?? "https://api.telegram.org"}/bot${token}`;
  const call = (method: string, body: object, signal: AbortSignal) =>
    fetch(`${url}/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });

  const telegram = defineChannel({
    name: "telegram",
    to: ["questions", "messages", "ends"],

    // One try. Agiraph keeps the order, tries again what failed, and records what arrived.
    async deliver(said, signal) {
      const response = await call("sendMessage", { chat_id: chat, text: textOf(said) }, signal);
      if (response.ok) return { kind: "delivered" };
      const why = `Telegram answered ${response.status}`;
      if (response.status !== 429 && response.status < 500) return { kind: "refused", why };
      return { kind: "failed", why, retryAfterMs: Number(response.headers.get("retry-after") ?? 0) * 1000 };
    },

    // Waits for replies until the listener is closed.
    async listen(receive) {
      const stop = new AbortController();
      const listening = hear(receive, stop.signal);
      return {
        async close() {
          stop.abort();
          await listening;
        },
      };
    },
  });

  async function hear(receive: Receive, signal: AbortSignal): Promise<void> {
    let offset = 0;
    while (!signal.aborted) {
      try {
        const response = await call("getUpdates", { offset, timeout: 50 }, signal);
        if (!response.ok) throw new Error(`Telegram answered ${response.status}`);
        const { result } = (await response.json()) as { result: Update[] };
        for (const update of result) {
          offset = update.update_id + 1;
          const answer = await take(update, receive);
          if (answer) await call("sendMessage", { chat_id: chat, text: answer }, signal);
        }
      } catch {
        // Telegram is not there: again in a while, unless we are closing.
        await new Promise((resolve) => setTimeout(resolve, signal.aborted ? 0 : 5_000).unref());
      }
    }
  }

  /** Anyone who answers here speaks in your name: only your own chat is heard. */
  async function take({ message }: Update, receive: Receive): Promise<string | undefined> {
    if (!message?.text || String(message.chat.id) !== chat) return undefined;
    const [, agent_id, question_id] = MARK.exec(message.reply_to_message?.text ?? "") ?? [];
    if (!agent_id) return "Reply to one of my messages, so that I know which agent you mean.";
    const words = question_id ? { agent_id, question_id, response: message.text } : { agent_id, message: message.text };
    return receive(words).catch((error: Error) => error.message);
  }

  return { channels: [telegram] };
});

/** Ends every message, so that a reply says what it is about, also after a restart. */
const MARK = /\[(agent-\S+?)(?: (question-\S+))?\]$/;

function textOf({ topic, agent, from, text, of, choices = [] }: Utterance): string {
  const head = topic === "ends" ? `${agent.name} has ended` : `${from.name} of ${agent.name}`;
  const mark = topic === "questions" ? `[${agent.id} ${of}]` : `[${agent.id}]`;
  return [head, text, ...choices.map((choice, at) => `${at + 1}. ${choice}`), mark].join("\n").slice(0, 4096);
}
