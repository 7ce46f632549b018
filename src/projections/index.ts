export * from "./agent.ts";
export * from "./board.ts";
export * from "./letters.ts";
export * from "./roster.ts";
export * from "./situation.ts";
export * from "./spending.ts";
export * from "./stages.ts";
export * from "./thread.ts";
export { numberOf, type WaitingWork, waitingWork } from "./waiting-work.ts";
