import type { Config, ProviderConfig } from "../../protocol/config.ts";

export type { ModelSettings, Price } from "../../protocol/config.ts";
/** What `config.json` says about models. */
export type ModelConfig = Pick<Config, "model" | "worker_model" | "providers" | "models">;
export type ModelServerConfig = ProviderConfig & { base_url: string };
