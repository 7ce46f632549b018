import type { Config, ProviderConfig } from "../protocol/config.ts";

export type { Price } from "../protocol/config.ts";
/** What `config.json` says about models. */
export type ModelConfig = Pick<Config, "model" | "worker_model" | "providers" | "models">;
export type ServerConfig = ProviderConfig;
