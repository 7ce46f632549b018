export * from "./channel.ts";
export * from "./config.ts";
export * from "./entry.ts";
export * from "./fact.ts";
export * from "./ids.ts";
export * from "./outcome.ts";
export * from "./trigger.ts";
export * from "./usage.ts";
