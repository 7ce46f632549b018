import { anthropicWire } from "./anthropic.ts";
import { geminiWire } from "./gemini.ts";
import { openaiChatWire } from "./openai-chat.ts";
import { openaiResponsesWire } from "./openai-responses.ts";
import type { ChatVendor, ProviderApi, ProviderWire } from "./wire.ts";

/** Which API a path belongs to; Gemini says the model and the streaming in the path, the others in the body. */
export interface ProviderRoute {
  api: ProviderApi;
  wire: ProviderWire;
  model?: string;
  stream?: boolean;
}

export function routeOf(path: string): ProviderRoute | undefined {
  const [pathname = ""] = path.split("?");
  if (pathname.endsWith("/messages")) return { api: "anthropic", wire: anthropicWire };
  if (pathname.endsWith("/responses")) return { api: "openai-responses", wire: openaiResponsesWire };
  if (pathname.endsWith("/chat/completions")) return { api: "openai-chat", wire: CHAT[vendorOf(pathname)] };
  const [, model, method] = /\/models\/([^/:]+):(streamGenerateContent|generateContent)$/.exec(pathname) ?? [];
  if (model === undefined) return undefined;
  return {
    api: "gemini",
    wire: geminiWire,
    model: decodeURIComponent(model),
    stream: method === "streamGenerateContent",
  };
}

const CHAT: Record<ChatVendor, ProviderWire> = {
  openai: openaiChatWire("openai"),
  openrouter: openaiChatWire("openrouter"),
  ollama: openaiChatWire("ollama"),
};

function vendorOf(pathname: string): ChatVendor {
  if (pathname.startsWith("/openrouter/")) return "openrouter";
  return pathname.startsWith("/ollama/") ? "ollama" : "openai";
}
